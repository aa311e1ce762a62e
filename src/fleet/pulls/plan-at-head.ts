import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { approvalDigest } from '../../engine/plan/plan-digest.ts';
import { onlyDocument } from '../../manifests/parse-documents.ts';
import { LastLoad } from '../../operator/last-load.ts';
import { loadVersion } from '../../operator/load-version.ts';
import { StateLocked } from '../../operator/messages.ts';
import { planRun } from '../../operator/plan-run.ts';
import { denials } from '../../policies/waivers.ts';
import { placeOf } from '../../problems/diagnostic.ts';
import { UserError } from '../../problems/user-error.ts';
import { InvalidProject } from '../../project/invalid-project.ts';
import { loadProject } from '../../project/load-project.ts';
import type { TrustedProject } from '../../project/trusted-settings.ts';
import { changesIn } from '../../runs/planning.ts';
import type { RunSignals } from '../../runs/run-context.ts';
import { type Json, mapParts } from '../../values/json.ts';
import { Redactor } from '../../values/redactor.ts';
import { ruleOf } from '../fleet-file.ts';
import type { FoundProject, FoundProjects } from '../member.ts';
import type { PullPlan } from '../rows/pull-rows.ts';
import type { MemberRuns } from '../run-member.ts';
import { documentOf, withoutValues } from '../run-outcome.ts';
import type { AffectedWorkspace } from './affected.ts';

/** The newest version of the branch that a request goes to. */
export interface TrustedBase {
  readonly branch: string;
  readonly contents: FoundProjects;
}

interface PlanningAtHead extends Pick<MemberRuns, 'sources' | 'context' | 'shared' | 'rules'> {
  readonly source: string;
  readonly base: TrustedBase;
  readonly signals: RunSignals;
}

/** A plan that is only shown: everything but its result is in `PullPlan`. */
type Planned = Omit<PullPlan, 'address'>;

const NONE = { digest: undefined, plan: undefined } as const;

/**
 * Plans a workspace at the newest commit of a request, with the settings about secrets, state and platform of the base branch, and with
 * its policies in addition. Takes no lock and writes nothing.
 * @throws UserError, PlatformError if the plan cannot be made now.
 */
export async function planAtHead(planning: PlanningAtHead, affected: AffectedWorkspace): Promise<Planned> {
  const { sources, source, base, signals, context, shared, rules } = planning;
  const { address, project, workspace = '', settings, before } = affected;
  const was = base.contents.projects.find((each) => each.project === project.project);
  const trusted = was && (await trustedAt(planning, was));
  if (trusted === 'invalid') {
    const text = `The settings of this workspace on ${base.branch} are not valid, so it is planned after the merge`;
    return { ...NONE, result: 'validated', notes: [text] };
  }
  if (trusted === undefined || !Object.hasOwn(trusted.project.workspaces, workspace)) {
    const text = `${base.branch} does not have this workspace, so its settings are not trusted. It is planned after the merge.`;
    return { ...NONE, result: 'new', notes: [text] };
  }
  const local = sources.local(source, project.project);
  const { folder, commit } = await sources.checkout({ ...project, source }, signals.requests);
  const redactor = new Redactor();
  const policies = trusted.project.policies;
  const file = `${trusted.project.file} of ${base.branch}`;
  const last = new LastLoad();
  const result = await loadVersion(
    {
      ...context,
      shared,
      reach: { member: address },
      projectFolder: folder,
      workspace,
      redactor,
      interrupts: signals,
      policies: {
        ...(context.policies ?? { files: [] }),
        base: { of: 'file', file, path: path.join(trusted.project.root, file), policies },
      },
    },
    { version: { folder, commit }, local, last, trusted },
  );
  if ('invalid' in result) {
    const { diagnostics, error } = result.invalid;
    if (error !== undefined && !(error instanceof UserError)) throw error;
    const places = diagnostics
      .filter(({ severity }) => severity === 'error')
      .map((each) => redactor.redact(`${placeOf(each)}  ${each.message}`));
    const message = redactor.redact(error?.message ?? 'the manifests are not valid');
    return { ...NONE, result: 'invalid', notes: [], problem: { message, places } };
  }
  const { opened } = result.loaded;
  const state = await opened.state();
  if (opened.holder !== undefined) throw new StateLocked(opened.holder, opened.reach);
  await using client = opened.connect({});
  const { onDrift, mode } = ruleOf(rules, address);
  const keepsDrift = onDrift !== undefined && mode !== 'report';
  const { plan } = await planRun(result.loaded, { state, client, options: {}, keepsDrift });
  const { document } = plan;
  const notes = [
    ...(settings.length === 0 ? [] : [settingsNote(settings, base.branch)]),
    ...(was?.version === before ? [] : [behindNote(base.branch)]),
  ];
  const isDenied = denials(document.violations).length > 0;
  const shown = opened.workspace.state.seal === undefined ? document : withoutValues(document);
  return {
    result: isDenied ? 'denied' : changesIn(document) > 0 ? 'changes' : 'unchanged',
    digest: isDenied || settings.length > 0 ? undefined : approvalDigest(document),
    plan: withoutSecrets(documentOf(shown), redactor),
    notes,
  };
}

async function trustedAt(
  { sources, source, context, signals }: PlanningAtHead,
  project: FoundProject,
): Promise<TrustedProject | 'invalid'> {
  if (project.problem !== undefined) return 'invalid';
  const { folder } = await sources.checkout({ ...project, source }, signals.requests);
  const local = sources.local(source, project.project);
  try {
    const trusted = await loadProject({ cwd: folder, env: context.env, local });
    const text = await readFile(path.join(folder, project.file), 'utf8');
    const { value } = onlyDocument(text, { file: project.file, name: 'the project file' });
    return { document: value ?? null, project: trusted };
  } catch (error) {
    if (error instanceof InvalidProject) return 'invalid';
    throw error;
  }
}

function settingsNote(settings: readonly string[], branch: string): string {
  const names = settings.join(', ');
  return `This request changes ${names}. The plan uses the settings of ${branch}, so the plan after the merge needs an approval.`;
}

function behindNote(branch: string): string {
  return `${branch} has newer changes to this project, which this plan does not contain. Update the branch of the request.`;
}

/** Values of the platform may repeat a secret. */
function withoutSecrets(value: Json, { redact }: Redactor): Json {
  const redacted = (part: Json): Json =>
    typeof part === 'string' ? redact(part) : mapParts<Json, Json>(part, redacted);
  return redacted(value);
}
