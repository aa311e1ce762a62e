import { driftOf } from '../../engine/decide/drift-view.ts';
import { refuseUnknown } from '../../engine/decide/scope.ts';
import { type AcceptanceWords, acceptanceJson, renderAcceptance } from '../../output/accept-text.ts';
import { jsonText } from '../../output/json-text.ts';
import { plural } from '../../output/plural.ts';
import { needsManualAction, requestJson, requestWords, requestWriter } from '../../output/request-text.ts';
import { ExitCode, usageError } from '../../problems/user-error.ts';
import { writeFiles } from '../../project/write-back/write-files.ts';
import { acceptanceOf, type DriftFacts, driftValues, type FoundValues } from '../../runs/accepted-values.ts';
import { executeProposal, proposalOf, proposeDrift } from '../../runs/drift-request/propose-drift.ts';
import { type OpenWorkspace, openWorkspace } from '../../runs/open-workspace.ts';
import { withPlanInputs } from '../../runs/planning.ts';
import type { PlatformOptions } from '../../runs/run-context.ts';
import type { Context } from '../context.ts';
import type { JsonFlag } from '../flags.ts';
import { approve, cancelled } from './confirm.ts';
import { planAll } from './report.ts';

interface AcceptOptions extends PlatformOptions, WriteBackOptions {
  /** The addresses of the resources; empty for all drifted resources. */
  readonly address: readonly string[];
  readonly pullRequest?: boolean;
}

/** Writes drift into the manifests or into a pull request. Writes nothing to the platform or the state. */
export async function accept(context: Context, options: AcceptOptions): Promise<number> {
  const { address: addresses, pullRequest = false } = options;
  if (pullRequest && addresses.length > 0) {
    throw usageError('--pull-request takes no addresses: it keeps one pull request for all drift of a workspace');
  }
  const opened = await openWorkspace(context, { requireKey: true });
  if (pullRequest) {
    return withDrift(context, { opened, options }, (facts) => acceptByRequest(context, facts, options));
  }
  const found = await withDrift(context, { opened, options }, (facts) => driftValues(facts, addresses));
  const words = {
    verb: 'Accept',
    nothing: 'No drift to accept.',
    next: 'The next apply records the accepted values in the state; until then, another edit of these values counts as a conflict.',
  };
  return writeBack(context, opened, { found, options, command: 'voxform accept', words });
}

async function withDrift<T>(
  context: Context,
  { opened, options }: { readonly opened: OpenWorkspace; readonly options: AcceptOptions },
  work: (facts: DriftFacts) => Promise<T>,
): Promise<T> {
  const { address: addresses } = options;
  // A value that the platform kept in spite of an apply is not drift. A person can accept it, but a pull request must not.
  const retryIgnored = options.pullRequest !== true;
  const planning = { refresh: true, evenIfAll: true, retryIgnored, routes: !retryIgnored };
  const all = { ...options, ...planning, target: addresses };
  return withPlanInputs(opened, all, async (prepared) => {
    const { desired: resources, state, client } = prepared;
    const earlier = resources.flatMap(({ kind, previousNames }) => previousNames.map((name) => `${kind}/${name}`));
    const known = [...resources.map(({ address }) => address), ...earlier, ...state.resources.keys()];
    refuseUnknown(addresses, new Set([...known, ...state.pending.keys()]));
    const { plan } = await planAll(context, { ...prepared, opened, options: all });
    return work({ opened, state, resources, drift: driftOf(plan), client });
  });
}

/** The default maximum time that a host may delay the command. */
const MAX_WAIT_SECONDS = 300;

/** Opens, updates or closes the drift request of a workspace. Leaves the project folder unchanged. */
async function acceptByRequest(
  context: Context,
  facts: DriftFacts,
  options: WriteBackOptions & PlatformOptions,
): Promise<number> {
  const { terminal, log, interrupts } = context;
  const { opened, drift } = facts;
  const { root: checkout } = opened.project;
  const acceptance = await proposeDrift(facts);
  const { files, refused } = acceptance;
  const isJson = options.output === 'json';
  const words = { verb: 'Pull request', nothing: 'No drift to accept.' };
  if (!isJson) terminal.out(renderAcceptance(acceptance, terminal.style, words));
  const isDry = options.dryRun === true;
  if (!isDry && files.length > 0 && !options.autoApprove) {
    const approved = await approve(context, {
      question: `Open or update a pull request that changes ${plural(files.length, 'file')}?`,
      verb: 'do so',
      hint: 'Review with voxform accept --pull-request --dry-run, then approve with --auto-approve.',
    });
    if (!approved) return cancelled(context);
  }
  const signal = interrupts.requests;
  const parts = { opened, drift, acceptance, origin: { checkout }, writer: requestWriter, signal };
  const proposal = await proposalOf(parts);
  const maxPauseMs = (options.maxWait ?? MAX_WAIT_SECONDS) * 1000;
  const request = isDry ? undefined : await executeProposal(opened, proposal, { maxPauseMs, signal });
  const message = request && requestWords(request);
  if (isJson) {
    const json = acceptanceJson(acceptance, { workspace: opened.workspace.name, written: false });
    terminal.out(jsonText({ ...json, pull_request: request === undefined ? null : requestJson(request) }));
    if (message !== undefined) log[request !== undefined && needsManualAction(request) ? 'warn' : 'info'](message);
    if (refused.length > 0) log.warn(`${plural(refused.length, 'change')} cannot be written back`);
  } else if (message !== undefined) terminal.out(`${message.charAt(0).toUpperCase()}${message.slice(1)}\n`);
  if (files.length === 0) return refused.length === 0 ? ExitCode.ok : ExitCode.error;
  return request !== undefined && needsManualAction(request) ? ExitCode.error : ExitCode.ok;
}

export interface WriteBackOptions extends JsonFlag {
  readonly dryRun?: boolean;
  readonly autoApprove?: boolean;
}

interface WriteBack {
  readonly found: FoundValues;
  readonly options: WriteBackOptions;
  readonly command: string;
  readonly words: AcceptanceWords;
}

/** Shows the edits to the project's files, asks for approval, and writes the files. */
export async function writeBack(
  context: Context,
  opened: OpenWorkspace,
  { found, options, command, words }: WriteBack,
): Promise<number> {
  const { project, workspace } = opened;
  const acceptance = await acceptanceOf(opened, found);
  const { files, refused } = acceptance;
  const { terminal, log } = context;
  const isWriting = files.length > 0 && options.dryRun !== true;
  if (options.output === 'text') terminal.out(renderAcceptance(acceptance, terminal.style, words));
  if (isWriting) {
    const approval = {
      question: `Write ${plural(files.length, 'file')}?`,
      verb: 'write',
      hint: `Review with ${command} --dry-run, then approve with ${command} --auto-approve.`,
    };
    if (!options.autoApprove && !(await approve(context, approval))) return cancelled(context);
    await writeFiles(project.root, files);
    log.info([`Written: ${files.map(({ file }) => file).join(', ')}`, words.next].filter(Boolean).join('. '));
  }
  if (options.output === 'json') {
    terminal.out(jsonText(acceptanceJson(acceptance, { workspace: workspace.name, written: isWriting })));
  }
  return refused.length === 0 ? ExitCode.ok : ExitCode.error;
}
