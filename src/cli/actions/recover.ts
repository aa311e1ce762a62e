import { dashboardOf } from '../../engine/plan/dashboard-links.ts';
import { jsonText } from '../../output/json-text.ts';
import { plural } from '../../output/plural.ts';
import {
  evidenceText,
  type RecoverResult,
  recoveredText,
  recoverJson,
  recoverText,
} from '../../output/recover-text.ts';
import { advice, command, ExitCode, UserError } from '../../problems/user-error.ts';
import { OpenWorkspace, openWorkspace, requireValid } from '../../runs/open-workspace.ts';
import { findLostRecords } from '../../runs/recover/find-lost-records.ts';
import { keyFieldOf, type Match } from '../../runs/recover/matches.ts';
import {
  migratedIds,
  recordRecovery,
  recoverableState,
  remainingUnknownCreates,
} from '../../runs/recover/recover-state.ts';
import type { LockOptions, PlatformOptions } from '../../runs/run-context.ts';
import type { Context } from '../context.ts';
import { ALL_CALLS, type DiscoveryFlags, type JsonFlag } from '../flags.ts';
import { idsFromFlags } from '../ids-from-flags.ts';
import { approve } from './confirm.ts';
import { progressFor } from './report.ts';

interface RecoverOptions extends PlatformOptions, LockOptions, DiscoveryFlags, JsonFlag {
  readonly auto?: boolean;
  readonly autoApprove?: boolean;
}

export async function recover(context: Context, options: RecoverOptions): Promise<number> {
  const given = await idsFromFlags(context, options);
  const opened = await openWorkspace(context, { requireKey: true });
  // This loads the secrets that are set, so that they are redacted from the platform's data.
  const { resources } = requireValid(await opened.declared('lenient'));
  const backups = await opened.store.backups();
  const { state, loss } = await recoverableState(opened, backups);
  if (loss !== undefined) context.log.warn(loss.message);
  const progress = progressFor(context);
  const recovery = await opened.withClient(options, async (client) =>
    findLostRecords({
      client,
      workspaceId: opened.workspace.workspaceId,
      concurrency: opened.concurrency(options),
      since: options.callsFrom ?? ALL_CALLS,
      resources,
      state,
      backups: [...backups, ...(await migratedIds(opened.project.root, opened.workspace.name))],
      given,
      onProgress: progress.read,
    }).finally(progress.clear),
  );
  const { matches } = recovery;
  if (matches.length === 0 && recovery.unanswered.length === 0) {
    context.log.info('Nothing to recover: the state has a record for every manifest.');
  }
  const { terminal } = context;
  const isText = options.output === 'text';
  if (isText && matches.some(({ candidates }) => candidates.length > 0)) {
    terminal.out(`${recoverText(matches, terminal.style)}\n`);
  }
  const isLost = loss !== undefined;
  let answers: Answers;
  let writesState: boolean;
  try {
    answers = await askForRecords(context, matches, options);
    writesState = answers.taken.size > 0 || (isLost && (await confirmNewState(context, options)));
  } catch (error) {
    if (!isText) terminal.out(jsonText(recoverJson({ ...recovery, ...noAnswers(), selection: opened.selection })));
    throw error;
  }
  const { taken } = answers;
  const interrupted = context.interrupts.exitCode;
  if (interrupted !== undefined && taken.size === 0) return interrupted;
  if (writesState) {
    const { lockTimeout, allowOlderState = false } = options;
    const recorder = interrupted === undefined ? opened : withoutInterrupts(context, opened);
    const oldState = await recordRecovery(recorder, { recovery, taken, isLost, lockTimeout, allowOlderState });
    if (oldState !== undefined) context.log.info(`The old state is kept in ${oldState}.`);
  }
  const unanswered = isLost && writesState ? remainingUnknownCreates(recovery, taken) : recovery.unanswered;
  const dashboard = dashboardOf(opened.workspace);
  const recovered: RecoverResult = { ...recovery, ...answers, unanswered, selection: opened.selection, dashboard };
  if (!isText) terminal.out(jsonText(recoverJson(recovered)));
  else if (matches.length > 0) terminal.out(recoveredText(recovered, terminal.style));
  if (interrupted === undefined) {
    const lost = matches.filter((match) => !taken.has(match.resource.address) && keyFieldOf(match) === undefined);
    return lost.length === 0 && unanswered.length === 0 ? ExitCode.ok : ExitCode.changes;
  }
  context.log.warn(`interrupted: ${plural(taken.size, 'answer')} kept; run voxform recover again for the rest`);
  return interrupted;
}

/** Returns the workspace without interrupts, so that given answers are still recorded. A second signal ends the process. */
function withoutInterrupts(context: Context, opened: OpenWorkspace): OpenWorkspace {
  const never = new AbortController().signal;
  return new OpenWorkspace({ ...context, interrupts: { stop: never, requests: never } }, opened);
}

type Answers = Pick<RecoverResult, 'taken' | 'declined'>;

function noAnswers(): Answers {
  return { taken: new Map(), declined: new Set() };
}

/** Returns the records that a person or `--auto-approve` accepts. */
async function askForRecords(context: Context, matches: readonly Match[], options: RecoverOptions): Promise<Answers> {
  const { auto, autoApprove } = options;
  const certain = new Map(
    matches.flatMap(({ resource, certain: match }) => (match === undefined ? [] : [[resource.address, match.id]])),
  );
  const allCertain = { ...noAnswers(), taken: certain };
  if (autoApprove) return allCertain;
  const questions = auto ? certain.size : matches.filter(({ candidates }) => candidates.length > 0).length;
  if (questions === 0) return noAnswers();
  const hint = advice`To import certain matches: ${command('recover --auto --auto-approve')}. To import one record: ${command('import ADDRESS ID')}`;
  if (auto) {
    const question = `Import ${plural(certain.size, 'record')}?`;
    return (await approve(context, { question, verb: 'import', hint })) ? allCertain : noAnswers();
  }
  if (!context.terminal.canAsk) throw new UserError('approval needs a terminal; nothing was imported', { hint });
  return askOneByOne(context, matches);
}

async function askOneByOne({ terminal, interrupts }: Context, matches: readonly Match[]): Promise<Answers> {
  const taken = new Map<string, string>();
  const declined = new Set<string>();
  const used = new Set<string>();
  let isAll = false;
  for (const { resource, candidates, certain } of matches) {
    const { address, kind } = resource;
    if (candidates.length > 0 && !isAll) declined.add(address);
    for (const candidate of candidates) {
      const key = `${kind}/${candidate.id}`;
      if (used.has(key)) continue;
      const isCertain = candidate === certain;
      const match = `${address}: is it ${candidate.id}? ${evidenceText(candidate)}`;
      const question = `\n${terminal.errorStyle.prose(match)}\n[y]es / [n]o / [a]ll certain / [q]uit: `;
      const answer = isAll ? (isCertain ? 'y' : 'n') : letterOf(await terminal.ask(question, interrupts.stop));
      if (answer === 'q' || answer === 'a') declined.delete(address);
      if (answer === 'q') return { taken, declined };
      if (answer === 'a') isAll = true;
      if (answer !== 'y' && !(isAll && isCertain)) continue;
      taken.set(address, candidate.id);
      used.add(key);
      break;
    }
  }
  return { taken, declined };
}

/** Asks whether to quarantine an unusable state and to start a new state, even though no record was imported. */
async function confirmNewState(context: Context, { autoApprove }: RecoverOptions): Promise<boolean> {
  if (autoApprove) return true;
  return approve(context, {
    question: 'Nothing imported. Quarantine the unusable state and continue without it?',
    verb: 'continue',
    hint: advice`Restore the state, or continue without it: ${command('recover --auto-approve')}`,
  });
}

/** Returns y, n, a or q for a complete or abbreviated answer, q if there is none, and an empty string if it is invalid. */
function letterOf(given = 'q'): string {
  const answer = given.trim().toLowerCase();
  const letter = answer.charAt(0);
  return ['yes', 'no', 'all', 'quit', letter].includes(answer) ? letter : '';
}
