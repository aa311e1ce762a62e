import { writes } from '../engine/plan/plan-actions.ts';
import type { PlannedResource } from '../engine/plan/plan-document.ts';
import { appliedActions, counts, pendingActions } from '../output/action-words.ts';
import { withSteps, wordedWarnings } from '../output/next-steps.ts';
import { plural } from '../output/plural.ts';
import { needsManualAction, requestWords } from '../output/request-text.ts';
import { positionText } from '../problems/diagnostic.ts';
import {
  appliedMessage,
  driftMessage,
  errorKey,
  failureMessage,
  holdMessage,
  invalidLines,
  isExpected,
  messageOf,
  missingMessage,
  pendingWords,
  planWords,
} from './messages.ts';
import { correctedAddresses, type DriftedResource, type RunObserver, type RunReport } from './run-report.ts';
import { type LogFields, RepeatFilter, type WatchLevel, type WatchLog } from './watch-log.ts';

/** Logs the results of runs. A condition that persists over several runs is logged once; repetitions have level debug or are omitted. */
export class RunLogger implements RunObserver {
  readonly #defaultLog: WatchLog | undefined;
  #log: WatchLog | undefined;
  readonly #reported = new RepeatFilter();
  #failures = 0;
  #wasOk = false;
  #commit: string | undefined;
  #run = 0;

  /** @param log the default log of `finished`. */
  constructor(log?: WatchLog) {
    this.#defaultLog = log;
  }

  finished(report: RunReport, log = this.#defaultLog): void {
    this.#log = log;
    this.#run = report.number;
    this.#logFetch(report);
    this.#logManifests(report);
    this.#logFailure(report);
    if (report.plan !== undefined) {
      this.#logDrift(report);
      this.#logHold(report);
      this.#logApplied(report);
      this.#logManualSteps(report);
      this.#logRequest(report);
    }
    this.#logResult(report);
    // The log belongs to the run, so release it.
    this.#log = undefined;
  }

  #entry(level: WatchLevel, message: string, fields: LogFields): void {
    this.#log?.entry(level, message, { ...fields, run: this.#run });
  }

  /** Logs a warning for each message of the topic that is new since the last run. */
  #warnOfNew(topic: string, messages: readonly string[], event: string): void {
    for (const message of this.#reported.update(topic, messages).added) this.#entry('warning', message, { event });
  }

  #logFetch({ fetchProblem, commit, invalid, workspace, selection }: RunReport): void {
    // If the run ended before the fetch, it is unknown whether the source can be fetched.
    if (fetchProblem === undefined && invalid === undefined && workspace === undefined) return;
    const problems = fetchProblem === undefined ? [] : [messageOf(fetchProblem, selection)];
    const { added, ended } = this.#reported.update('fetch', problems);
    for (const message of added) {
      const current = commit === undefined ? '' : `; still using ${shortCommit(commit)}`;
      this.#entry('warning', `cannot fetch the source${current}: ${message}`, { event: 'fetch-failed' });
    }
    if (ended > 0 && problems.length === 0)
      this.#entry('info', 'the source can be fetched again', { event: 'fetched' });
    if (commit === undefined || commit === this.#commit) return;
    this.#commit = commit;
    this.#entry('info', `using commit ${shortCommit(commit)}`, { event: 'commit', commit });
  }

  #logManifests({ invalid, warnings, workspace, result }: RunReport): void {
    if (invalid === undefined && workspace === undefined) return;
    const lines = invalid === undefined ? [] : invalidLines(invalid);
    const { added, ended } = this.#reported.update('invalid', lines);
    for (const line of added) this.#entry('error', line, { event: 'invalid' });
    if (added.length > 0) {
      const inUse = result === 'invalid' ? 'nothing is applied' : 'still using the last valid ones';
      const fields = { event: 'manifests-refused', problems: lines.length };
      this.#entry('error', `the manifests are invalid: ${inUse}`, fields);
    }
    if (ended > 0 && invalid === undefined) this.#entry('info', 'the manifests are valid again', { event: 'valid' });
    const messages = warnings.map((each) => `${positionText(each)}  ${each.message}`);
    this.#warnOfNew('warning', messages, 'manifest-warning');
  }

  #logFailure({ error, result, busy, selection }: RunReport): void {
    if (error === undefined) return;
    const message = messageOf(error, selection);
    const key = `${errorKey(error)}${busy?.isLong ? ' for long' : ''}`;
    const isNew = this.#reported.update('error', [key]).added.length > 0;
    if (result === 'interrupted') return;
    if (!isExpected(error) && error instanceof Error && isNew)
      this.#entry('error', 'this is a bug in voxform: please report it', {
        event: 'mistake',
        stack: error.stack ?? '',
      });
    if (result === 'busy') {
      const level = busy?.isLong ? 'warning' : 'info';
      this.#entry(isNew ? level : 'debug', message, { event: 'busy', seconds: busy?.seconds ?? 0 });
    } else this.#entry(isNew ? 'error' : 'debug', message, { event: 'failed' });
  }

  #logDrift(report: RunReport): void {
    const { drift } = report;
    const { added, ended } = this.#reported.update('drift', drift.map(keyOfDrift));
    for (const each of drift.filter((resource) => added.includes(keyOfDrift(resource)))) {
      const { address, fields } = each;
      this.#entry('warning', `drift: ${driftMessage(each)}`, { event: 'drift', address, fields });
    }
    const corrected = correctedAddresses(report);
    const open = drift.filter(({ address }) => !corrected.has(address));
    this.#reported.update('drift', open.map(keyOfDrift));
    if (ended > 0 && drift.length === 0) this.#entry('info', 'no more drift', { event: 'drift-gone' });
  }

  #logRequest({ request }: RunReport): void {
    const { kept, problem } = request ?? {};
    const problems = problem === undefined ? [] : [`no pull request for the drift: ${problem}`];
    this.#warnOfNew('request-problem', problems, 'request-failed');
    const words = kept && requestWords(kept);
    for (const text of this.#reported.update('request', words === undefined ? [] : [words]).added)
      this.#entry(kept && needsManualAction(kept) ? 'warning' : 'info', text, { event: 'request' });
  }

  #logHold(report: RunReport): void {
    const { hold, plan, selection } = report;
    const isNeeded = plan !== undefined && counts(plan.summary, appliedActions) !== '';
    const key =
      hold === undefined || !isNeeded
        ? []
        : [JSON.stringify([hold, plan.resources.filter(({ action }) => writes.has(action)).map(keyOf)])];
    const isNew = this.#reported.update('hold', key).added.length > 0;
    if (hold === undefined || !isNeeded) return;
    const isRefused = hold.reason === 'guard' || hold.reason === 'policy';
    const level = isRefused ? 'warning' : hold.reason === 'changing' ? 'debug' : 'info';
    this.#entry(isNew ? level : 'debug', holdMessage(hold, pendingWords(report), selection), {
      event: 'held',
      why: hold.reason,
      resources: plan.resources
        .filter(({ action }) => writes.has(action))
        .map(({ address, action }) => ({ address, action })),
    });
  }

  #logApplied({ applied, plan, selection }: RunReport): void {
    const planned = new Map(plan?.resources.map((resource) => [resource.address, resource]));
    for (const { address, action, result } of applied) {
      const resource = planned.get(address);
      if (resource === undefined || result.status !== 'done') continue;
      this.#entry('info', appliedMessage(resource, selection), { event: 'applied', address, action });
    }
    const failures = new Map(
      applied.flatMap((each) => (each.result.status === 'done' ? [] : [[failureMessage(each, selection), each]])),
    );
    const added = new Set(this.#reported.update('not-applied', [...failures.keys()]).added);
    for (const [message, { address, action, result }] of failures) {
      const level = !added.has(message) ? 'debug' : result.status === 'failed' ? 'error' : 'warning';
      this.#entry(level, message, { event: 'not-applied', address, action });
    }
  }

  #logManualSteps({ plan, missing, selection }: RunReport): void {
    const open = (plan?.resources ?? []).filter(({ action }) => pendingActions.some((each) => each === action));
    // These messages contain no time, so that an unchanged condition is not logged again in the next run.
    const missingMessages = new Map(missing.map((each) => [each.address, missingMessage(each)]));
    const resources = new Map(
      open.map((each) => [
        missingMessages.get(each.address) ?? `${each.address} is ${each.action}: ${each.reason}`,
        each,
      ]),
    );
    for (const text of this.#reported.update('manual-steps', [...resources.keys()]).added) {
      const resource = resources.get(text);
      const { address = '', action = 'manual' } = resource ?? {};
      const message = withSteps(`${text}.`, resource ?? {}, selection);
      this.#entry('warning', message, { event: 'manual-steps', address, action });
    }
    const found = this.#reported.update('missing', [...missingMessages.values()]);
    if (found.ended > 0 && missing.length === 0)
      this.#entry('info', 'no more missing records', { event: 'missing-gone' });
    const warnings = wordedWarnings(plan?.warnings ?? [], selection, { full: false }).map(({ address, message }) =>
      address === null ? message : `${address}: ${message}`,
    );
    this.#warnOfNew('plan-warning', warnings, 'plan-warning');
  }

  #logResult(report: RunReport): void {
    const { result, triggers, seconds, number } = report;
    const fields = { event: 'run', result, triggers: [...triggers], seconds: Math.round(seconds * 1000) / 1000 };
    const words = `run ${number} (${triggers.join(', ')}): ${result}, ${planWords(report)}`;
    if (result === 'ok') {
      this.#reported.update('error', []);
      if (this.#failures > 0)
        this.#entry('info', `recovered after ${plural(this.#failures, 'failed run')}`, { event: 'recovered' });
      const isFirst = !this.#wasOk && report.hold === undefined && report.applied.length === 0;
      this.#wasOk = true;
      this.#failures = 0;
      this.#entry(isFirst ? 'info' : 'debug', isFirst ? planWords(report) : words, fields);
      return;
    }
    if (result === 'failed') this.#failures += 1;
    this.#entry('debug', words, fields);
  }
}

function shortCommit(commit: string): string {
  return commit.slice(0, 10);
}

function keyOfDrift({ address, digest }: DriftedResource): string {
  return `${address} ${digest}`;
}

function keyOf({ address, action, changes }: PlannedResource): unknown {
  return [address, action, changes.map(({ path, after, fingerprints }) => [path, after, fingerprints])];
}
