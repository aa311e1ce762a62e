import { hash } from 'node:crypto';
import path from 'node:path';
import type { PlanDocument } from '../../engine/plan/plan-document.ts';
import { BranchRepository } from '../../hosting/branch-repository.ts';
import type { HostKind } from '../../hosting/code-host.ts';
import { HostClient } from '../../hosting/host-client.ts';
import { hostCredentials } from '../../hosting/host-credentials.ts';
import { hostKinds } from '../../hosting/index.ts';
import { realPath } from '../../manifests/read-file.ts';
import { asDisposable } from '../../problems/as-disposable.ts';
import { UserError } from '../../problems/user-error.ts';
import type { WorkspaceSelection } from '../../problems/workspace-command.ts';
import { inputsFor } from '../../project/load-desired.ts';
import { Secret } from '../../values/value.ts';
import { type Acceptance, acceptanceOf, type DriftFacts, driftValues, type RefusedChange } from '../accepted-values.ts';
import type { OpenWorkspace } from '../open-workspace.ts';
import { type RequestResult, reconcileRequest, type WantedRequest } from './reconcile-request.ts';
import { type ProjectOrigin, type RequestTarget, requestTarget } from './request-target.ts';

export interface RequestSubject {
  readonly drift: PlanDocument;
  /** Changes that the request does not contain. */
  readonly refused: readonly RefusedChange[];
  readonly selection: WorkspaceSelection;
}

/** Generates the description of a request, in Markdown. */
export interface RequestWriter {
  text(subject: RequestSubject): string;
  ended(subject: RequestSubject): string;
}

/** Returns the edits that make the manifests match the platform. */
export async function proposeDrift(facts: DriftFacts): Promise<Acceptance> {
  return acceptanceOf(facts.opened, await driftValues(facts));
}

interface ProposalInput extends Pick<DriftFacts, 'opened' | 'drift'> {
  readonly acceptance: Acceptance;
  readonly origin: ProjectOrigin;
  readonly writer: RequestWriter;
  readonly signal: AbortSignal;
}

interface RequestProposal {
  readonly target: RequestTarget;
  readonly wanted: WantedRequest;
  /** A digest of the proposal. The request needs no update while the digest stays the same. */
  readonly key: string;
}

/** @throws UserError if the host or the repository is unknown. */
export async function proposalOf(input: ProposalInput): Promise<RequestProposal> {
  const { opened, drift, acceptance, origin, writer, signal } = input;
  const { project, workspace, selection, context } = opened;
  const target = await requestTarget({ project, workspace: workspace.name, origin, env: context.env, signal });
  const { accepted, refused } = acceptance;
  const subject = { drift, refused, selection };
  const wanted: WantedRequest = {
    branch: target.branch,
    base: target.base,
    title: target.title,
    workspace: `${target.folder || '.'}:${workspace.name}`,
    drift: hash('sha256', JSON.stringify([accepted, refused])).slice(0, 32),
    text: opened.withoutSecrets(writer.text(subject)),
    hasRest: refused.length > 0,
    ended: opened.withoutSecrets(writer.ended(subject)),
    files: acceptance.files.map(({ file, before, after }) => ({
      path: path.posix.join(target.folder, realPathOf(project.root, file)),
      before,
      after,
    })),
  };
  return { target, wanted, key: hash('sha256', JSON.stringify([target, wanted])) };
}

/** Returns the path of a file relative to the root, with resolved links and forward slashes. */
function realPathOf(root: string, file: string): string {
  return path.relative(root, realPath(path.join(root, file))).replaceAll(path.sep, '/');
}

/**
 * Updates the request on its host to match the proposal.
 * @param maxPauseMs the maximum pause in milliseconds that the host may request.
 * @throws HostProblem, UserError
 */
export async function executeProposal(
  opened: OpenWorkspace,
  { target, wanted }: RequestProposal,
  { maxPauseMs, signal }: { readonly maxPauseMs: number; readonly signal: AbortSignal },
): Promise<RequestResult> {
  const { env, redactor, log } = opened.context;
  const { api, repository } = target;
  const kind: HostKind = hostKinds[target.host];
  const token = await tokenOf(opened, kind);
  const shown = `${repository} on ${new URL(api).host}`;
  const { redact } = redactor;
  const context = {
    api,
    shown,
    repository,
    settings: { api: 'pull_requests.api_url', repository: 'pull_requests.repository', maxPause: '--max-wait' },
    kind,
    network: opened.network(api),
    signal,
    maxPauseMs,
    redact,
    onNotice: (message: string) => log.info(message),
    addSecret: (text: string) => redactor.add(text),
    howToSet: (name: string) =>
      `Set ${name} where voxform.yaml looks for secrets, by default in the environment or .env. The token needs ${kind.rights}. To use another name, set pull_requests.token.`,
  };
  const credentials = hostCredentials({ token }, context);
  const client = new HostClient({ ...context, credentials, rights: kind.rights });
  await using _ = asDisposable(client);
  const url = `${kind.serverOf(new URL(api))}/${repository}.git`;
  const network = opened.network(url);
  const branches = new BranchRepository({ url, kind, token, network, env, signal, redact });
  await using __ = asDisposable(branches);
  return await reconcileRequest({ host: kind.open(client, repository), repository: branches, shown }, wanted, signal);
}

async function tokenOf({ project, workspace, context }: OpenWorkspace, kind: HostKind): Promise<Secret> {
  const { env } = context;
  const form = project.pullRequests.token ?? { $secret: kind.token };
  await workspace.secrets.read('$secret' in form ? [form.$secret] : []);
  const inputs = inputsFor({ project, workspace, env, mode: 'offline' });
  const found = inputs.named(form);
  if (!('value' in found)) throw new UserError(found.message);
  const { value } = found;
  if (value instanceof Secret) return value;
  const name = '$env' in form ? form.$env : form.$secret;
  return new Secret(name, typeof value === 'string' && value !== '' ? value : undefined);
}
