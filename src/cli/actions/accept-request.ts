import { acceptanceJson, renderAcceptance } from '../../output/accept-text.ts';
import { jsonText } from '../../output/json-text.ts';
import { plural } from '../../output/plural.ts';
import { needsPerson, requestJson, requestWords, requestWriter } from '../../output/request-text.ts';
import { ExitCode } from '../../problems/user-error.ts';
import type { DriftFacts } from '../../runs/accepted-values.ts';
import { carryOutProposal, proposalOf, proposedDrift } from '../../runs/drift-request/propose-drift.ts';
import type { PlatformOptions } from '../../runs/run-context.ts';
import type { Context } from '../context.ts';
import { approve, cancelled } from './confirm.ts';
import type { WriteBackOptions } from './write-back.ts';

/** Seconds that a host may make us wait, where no flag says otherwise. */
const MAX_WAIT = 300;

/** Keeps the request of a workspace in line with its drift. Nothing in the project folder changes. */
export async function acceptByRequest(
  context: Context,
  facts: DriftFacts,
  options: WriteBackOptions & PlatformOptions,
): Promise<number> {
  const { terminal, log, interrupts } = context;
  const { opened, drift } = facts;
  const { root: checkout } = opened.project;
  const acceptance = await proposedDrift(context, facts);
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
  const proposal = await proposalOf(context, parts);
  const longestPause = (options.maxWait ?? MAX_WAIT) * 1000;
  const kept = isDry
    ? undefined
    : await carryOutProposal(context, opened, { proposal, longestPause, signal });
  const said = kept && requestWords(kept);
  if (isJson) {
    const json = acceptanceJson(acceptance, { workspace: opened.workspace.name, written: false });
    terminal.out(jsonText({ ...json, pull_request: kept === undefined ? null : requestJson(kept) }));
    if (said !== undefined) log[kept !== undefined && needsPerson(kept) ? 'warn' : 'info'](said);
    if (refused.length > 0) log.warn(`${plural(refused.length, 'change')} cannot be written back`);
  } else if (said !== undefined) terminal.out(`${said.charAt(0).toUpperCase()}${said.slice(1)}\n`);
  if (files.length === 0) return refused.length === 0 ? ExitCode.ok : ExitCode.error;
  return kept !== undefined && needsPerson(kept) ? ExitCode.error : ExitCode.ok;
}
