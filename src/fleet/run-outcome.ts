import { hash } from 'node:crypto';
import { withDigest } from '../engine/plan/plan-digest.ts';
import { isNotApplied, type PlanDocument, type PlannedResource } from '../engine/plan/plan-document.ts';
import { NO_REQUEST } from '../operator/drift-request.ts';
import { resultsOf, runResult } from '../operator/last-run.ts';
import { type Pauses, retryPause } from '../operator/loop.ts';
import { messageOf } from '../operator/messages.ts';
import { appliedRows, isForPerson, planAfter, statusAfter } from '../operator/plan-after.ts';
import { NOTHING } from '../operator/reconciler.ts';
import { isHealthy, type RunReport, untilWindow } from '../operator/run-report.ts';
import { recordedMessage } from '../platform/platform-error.ts';
import type { Json } from '../values/json.ts';
import type { ClaimedJob } from './queue.ts';
import type { FinishedRun } from './rows/finished-runs.ts';
import type { RunRow } from './rows/run-rows.ts';
import type { MemberRun } from './run-member.ts';

/** Milliseconds until a run that found the state locked is retried. */
export const BUSY_PAUSE = 5_000;

interface Ended {
  readonly job: ClaimedJob;
  readonly row: RunRow;
  readonly process: string;
  readonly now: Date;
  readonly pauses: Pick<Pauses, 'firstRetry' | 'longestRetry'>;
  /** Between 0 and 1. */
  readonly random: number;
  /** The reason why it was stopped early, if that is a failure. */
  readonly timeout: Error | undefined;
}

/** The outcome of a run: the status of the workspace, and the time of its next run. */
export function outcomeOf({ version, outside, redact, ...run }: MemberRun, ended: Ended): FinishedRun {
  const report = recorded(run.report.workspace?.isSealed ? withoutValuesIn(run.report) : run.report);
  const { job, row, now, process, timeout } = ended;
  const { hold, applied, plan, startedAt, seconds } = report;
  const result = timeout === undefined ? report.result : 'failed';
  const failed = result === 'failed';
  const failures = failed ? row.failures + 1 : isHealthy(result) ? 0 : row.failures;
  const why = row.asked?.why ?? 'due';
  const isWorthKeeping =
    applied.length > 0 ||
    failed ||
    result === 'refused' ||
    (hold?.why === 'frozen' && !row.isHeldByFreeze) ||
    why === 'requested' ||
    why === 'approved' ||
    !isSame(report.request?.kept, row.request?.kept ?? NO_REQUEST.kept);
  const waits = hold?.why === 'approval' && plan !== undefined ? hold.digest : undefined;
  const isRejected = waits !== undefined && row.rejected.includes(planId(waits));
  const isNewPlan = waits !== undefined && row.openPlan !== planId(waits) && !isRejected;
  const after = planAfter(report);
  // For a state in the database of the fleet, the history contains them.
  const appliedChanges = outside === undefined ? [] : appliedRows(report, redact);
  return {
    job,
    row,
    status: statusAfter({ ...report, result }, isRejected),
    isChecked: plan !== undefined,
    hasDrift: report.drift.length > 0,
    failures,
    again: failed
      ? { milliseconds: retryPause(ended.pauses, failures, ended.random), backsOff: true }
      : nextTurn(report, now),
    isAnswer: result !== 'interrupted' && result !== 'busy',
    isGood: report.invalid === undefined && report.workspace !== undefined && version.version === row.version,
    // A run that was stopped before it had a plan leaves the results of the one before.
    summary:
      result === 'interrupted' && plan === undefined
        ? {}
        : resultsOf(report, {
            textOf: (error) => messageOf(error, report.selection, recordedMessage(error)),
            after,
            redact,
            timeout,
            now,
            rejected: isRejected ? planId(waits) : undefined,
          }),
    plan: planOf(report, row),
    left: after && leftIn(after),
    outside: outside === undefined ? undefined : after && outsideOf(after, report.orphans, redact(outside)),
    request: isSame(report.request, row.request) ? undefined : report.request,
    search: after && searchOf(after, report.naturalKeys, row.searchDigest),
    record:
      isWorthKeeping || isNewPlan
        ? {
            startedAt,
            seconds,
            result: isNewPlan ? 'planned' : runResult({ ...report, result }),
            why,
            process,
            applied: appliedChanges,
          }
        : undefined,
  };
}

/** The report without the platform's texts, which may repeat values. */
function recorded(report: RunReport): RunReport {
  const applied = report.applied.map((each) => {
    const { result } = each;
    return result.status === 'failed' && result.recorded !== undefined
      ? { ...each, result: { ...result, error: result.recorded } }
      : each;
  });
  return { ...report, applied };
}

function withoutValuesIn({ plan, naturalKeys: _, ...report }: RunReport): RunReport {
  return { ...report, plan: plan && withoutValues(plan) };
}

/** The plan of a workspace with a sealed state: the database keeps which fields change, and no values. */
export function withoutValues(plan: PlanDocument): PlanDocument {
  const resources = plan.resources.map(({ desired: _, ...each }) => ({
    ...each,
    changes: each.changes.map(({ before, after, names, ...change }) => ({ ...change, sensitive: true })),
  }));
  const violations = plan.violations?.map((each) => ({ ...each, message: 'the state is sealed' }));
  return { ...plan, resources, ...(violations && { violations }) };
}

/** The longest text that is searched. */
const MOST_TEXT = 255;

/** Names, ids and natural keys of all resources; undefined if they did not change. */
function searchOf(
  { resources }: PlanDocument,
  naturalKeys: RunReport['naturalKeys'],
  before: string | undefined,
): FinishedRun['search'] {
  const texts = resources.flatMap(({ address, id }) =>
    [address.slice(address.indexOf('/') + 1), id, naturalKeys?.get(address)].flatMap((text) =>
      text ? [{ resource: address, text: text.slice(0, MOST_TEXT) }] : [],
    ),
  );
  const digest = hash('sha256', JSON.stringify(texts));
  return digest === before ? undefined : { digest, texts };
}

/** True if a run has no news about the drift request. */
function isSame(now: unknown, before: unknown): boolean {
  return now === undefined || JSON.stringify(now) === JSON.stringify(before);
}

/** The next turn; undefined for the usual interval. */
function nextTurn(report: RunReport, now: Date): FinishedRun['again'] {
  if (report.result === 'interrupted') return { milliseconds: 0, backsOff: false };
  const milliseconds = report.result === 'busy' ? BUSY_PAUSE : untilWindow(report, now);
  return milliseconds === undefined ? undefined : { milliseconds, backsOff: false };
}

/** A short id for approval, long enough to be unique among the plans of a workspace. */
function planId(digest: string): string {
  return digest.slice(0, 12);
}

function planOf({ hold, plan, applied, result }: RunReport, row: RunRow): FinishedRun['plan'] {
  if (plan === undefined) return undefined;
  if (hold?.why === 'approval') {
    return { is: 'waiting', id: planId(hold.digest), digest: hold.digest, document: documentOf(plan) };
  }
  // A run that was stopped before its first write leaves the approval in force.
  const hasWritten = applied.some((each) => each.result.status !== 'skipped');
  if (hasWritten && row.approved !== undefined) return { is: 'applied', id: row.approved.id };
  return result === 'ok' && hold === undefined ? { is: 'needless' } : undefined;
}

/** The plan for the database. */
export function documentOf(plan: PlanDocument): Json {
  return JSON.parse(JSON.stringify(withDigest(plan))) as Json;
}

/** Resources in sync are kept without details, because a fleet has many workspaces. The digest is equal as long as the document is. */
function leftIn(after: PlanDocument): NonNullable<FinishedRun['left']> | undefined {
  const { state } = after;
  const resources = after.resources.map((each) =>
    each.action !== 'noop' || isForPerson(each) || isNotApplied(each) ? each : withoutDetails(each),
  );
  if (resources.length === 0) return undefined;
  return {
    digest: hash('sha256', JSON.stringify([state.lineage, resources])),
    document: documentOf({ ...after, resources }),
  };
}

/** What the page shows of it: references, where it is declared, and fields whose values are not compared. */
function withoutDetails({ address, kind, action, id, source, depends_on, ...rest }: PlannedResource): PlannedResource {
  const { previous_address, ignore_drift, released } = rest;
  return {
    ...{ address, kind, action, id, source, reason: 'in sync', changes: [], depends_on },
    ...(previous_address !== undefined && { previous_address }),
    ...(ignore_drift !== undefined && { ignore_drift }),
    ...(released !== undefined && { released }),
  };
}

/** Stored if an id or an orphan changes, not with each run. */
function outsideOf(
  { resources }: PlanDocument,
  orphans: RunReport['orphans'],
  location: string,
): NonNullable<FinishedRun['outside']> {
  const known = resources.flatMap(({ address, id }) => (id === null ? [] : [[address, { id }] as const]));
  const state = {
    location,
    resources: Object.fromEntries(known.sort(([a], [b]) => (a < b ? -1 : 1))),
    orphans,
  };
  return { digest: hash('sha256', JSON.stringify(state)), state };
}

/** For a run without files; without an error, it was stopped before it had any. */
export function failedOutcome(error: unknown, { since, ...ended }: Ended & { readonly since: Date }): FinishedRun {
  const report: RunReport = {
    number: 1,
    triggers: [],
    askedBy: [],
    mode: ended.row.mode,
    startedAt: since,
    seconds: (ended.now.getTime() - since.getTime()) / 1000,
    ...NOTHING,
    result: error === undefined ? 'interrupted' : 'failed',
    error,
  };
  const { version, commit } = ended.row;
  return outcomeOf({ report, version: { version, commit }, redact: (text) => text }, ended);
}
