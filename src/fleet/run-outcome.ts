import { hash } from 'node:crypto';
import { withDigest } from '../engine/plan/plan-digest.ts';
import { isNotApplied, type PlanDocument, type PlannedResource } from '../engine/plan/plan-document.ts';
import { NO_REQUEST } from '../operator/drift-request.ts';
import { resultsOf, runResult } from '../operator/last-run.ts';
import { type Pauses, retryPause } from '../operator/loop.ts';
import { messageOf } from '../operator/messages.ts';
import { appliedRows, hasManualStep, planAfter, statusAfter } from '../operator/plan-after.ts';
import { EMPTY_OUTCOME } from '../operator/reconciler.ts';
import { isHealthy, millisecondsUntilWindow, type RunReport } from '../operator/run-report.ts';
import { recordedMessage } from '../platform/platform-error.ts';
import { compareText } from '../problems/compare-text.ts';
import type { ClaimedJob } from './queue.ts';
import type { FinishedRun } from './rows/finished-runs.ts';
import type { RunRow } from './rows/run-rows.ts';
import type { MemberRun } from './run-member.ts';

/** Milliseconds before the retry of a run whose state was locked. */
export const BUSY_RETRY_MS = 5_000;

interface RunEnd {
  readonly job: ClaimedJob;
  readonly row: RunRow;
  readonly process: string;
  readonly now: Date;
  readonly pauses: Pick<Pauses, 'firstRetry' | 'maxRetry'>;
  /** A random number between 0 and 1. */
  readonly random: number;
  /** The timeout error, if the run took too long. */
  readonly timeout: Error | undefined;
}

/** Returns the outcome of a run: the status of the workspace, the changes to its stored data, and the time of its next run. */
export function outcomeOf({ version, externalLocation, redact, ...run }: MemberRun, end: RunEnd): FinishedRun {
  const report = withRecordedErrors(run.report.workspace?.isSealed ? withoutValuesIn(run.report) : run.report);
  const { job, row, now, process, timeout } = end;
  const { hold, applied, plan, startedAt, seconds } = report;
  const result = timeout === undefined ? report.result : 'failed';
  const failed = result === 'failed';
  const failures = failed ? row.failures + 1 : isHealthy(result) ? 0 : row.failures;
  const why = row.asked?.why ?? 'due';
  const isNotable =
    applied.length > 0 ||
    failed ||
    result === 'refused' ||
    (hold?.reason === 'frozen' && !row.isHeldByFreeze) ||
    why === 'requested' ||
    why === 'approved' ||
    !isSame(report.request?.kept, row.request?.kept ?? NO_REQUEST.kept);
  const pending = hold?.reason === 'approval' && plan !== undefined ? hold.digest : undefined;
  const isRejected = pending !== undefined && row.rejected.includes(planId(pending));
  const isNewPlan = pending !== undefined && row.openPlan !== planId(pending) && !isRejected;
  const after = planAfter(report);
  // The history in the fleet's database already contains the changes, unless the state is elsewhere.
  const appliedChanges = externalLocation === undefined ? [] : appliedRows(report, redact);
  return {
    job,
    row,
    status: statusAfter({ ...report, result }, isRejected),
    isChecked: plan !== undefined,
    hasDrift: report.drift.length > 0,
    failures,
    nextRun: failed
      ? { milliseconds: retryPause(end.pauses, failures, end.random), backsOff: true }
      : nextRun(report, now),
    fulfillsRequest: result !== 'interrupted' && result !== 'busy',
    isGood: report.invalid === undefined && report.workspace !== undefined && version.version === row.version,
    // A run that was stopped before it had a plan keeps the results of the previous run.
    summary:
      result === 'interrupted' && plan === undefined
        ? {}
        : resultsOf(report, {
            textOf: (error) => messageOf(error, report.selection, recordedMessage(error)),
            after,
            redact,
            timeout,
            now,
            rejected: isRejected ? planId(pending) : undefined,
          }),
    plan: planOf(report, row),
    remaining: after && remainingPlan(after),
    external:
      externalLocation === undefined
        ? undefined
        : after && externalStateOf(after, report.orphans, redact(externalLocation)),
    request: isSame(report.request, row.request) ? undefined : report.request,
    search: after && searchOf(after, report.naturalKeys, row.searchDigest),
    record:
      isNotable || isNewPlan
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

/** Replaces errors that contain the platform's own messages, because these may repeat values. */
function withRecordedErrors(report: RunReport): RunReport {
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

/** Removes the values from a plan. For a sealed state, the database stores only the names of changed fields. */
export function withoutValues(plan: PlanDocument): PlanDocument {
  const resources = plan.resources.map(({ desired: _, ...each }) => ({
    ...each,
    changes: each.changes.map(({ before, after, names, ...change }) => ({ ...change, sensitive: true })),
  }));
  const violations = plan.violations?.map((each) => ({ ...each, message: 'the state is sealed' }));
  return { ...plan, resources, ...(violations && { violations }) };
}

/** The maximum number of characters of a searchable text. */
const MAX_TEXT_LENGTH = 255;

/** Returns the names, ids and natural keys of all resources; undefined if they are unchanged. */
function searchOf(
  { resources }: PlanDocument,
  naturalKeys: RunReport['naturalKeys'],
  storedDigest: string | undefined,
): FinishedRun['search'] {
  const texts = resources.flatMap(({ address, id }) =>
    [address.slice(address.indexOf('/') + 1), id, naturalKeys?.get(address)].flatMap((text) =>
      text ? [{ resource: address, text: text.slice(0, MAX_TEXT_LENGTH) }] : [],
    ),
  );
  const digest = hash('sha256', JSON.stringify(texts));
  return digest === storedDigest ? undefined : { digest, texts };
}

/** Returns true if the run did not change the stored data about the drift request. */
function isSame(now: unknown, before: unknown): boolean {
  return now === undefined || JSON.stringify(now) === JSON.stringify(before);
}

/** Returns the time until the next run; undefined for the usual interval. */
function nextRun(report: RunReport, now: Date): FinishedRun['nextRun'] {
  if (report.result === 'interrupted') return { milliseconds: 0, backsOff: false };
  const milliseconds = report.result === 'busy' ? BUSY_RETRY_MS : millisecondsUntilWindow(report, now);
  return milliseconds === undefined ? undefined : { milliseconds, backsOff: false };
}

/** Returns the short id of a plan for commands. It is long enough to be unique among the plans of a workspace. */
function planId(digest: string): string {
  return digest.slice(0, 12);
}

function planOf({ hold, plan, applied, result }: RunReport, row: RunRow): FinishedRun['plan'] {
  if (plan === undefined) return undefined;
  if (hold?.reason === 'approval') {
    return { is: 'waiting', id: planId(hold.digest), digest: hold.digest, document: withDigest(plan) };
  }
  // If the run was stopped before its first write, the approval stays valid.
  const hasWritten = applied.some((each) => each.result.status !== 'skipped');
  if (hasWritten && row.approved !== undefined) return { is: 'applied', id: row.approved.id };
  return result === 'ok' && hold === undefined ? { is: 'unnecessary' } : undefined;
}

/** Returns the plan of the remaining actions, and a digest to detect changes. To save space, omits details of resources in sync. */
function remainingPlan(after: PlanDocument): NonNullable<FinishedRun['remaining']> | undefined {
  const { state } = after;
  const resources = after.resources.map((each) =>
    each.action !== 'noop' || hasManualStep(each) || isNotApplied(each) ? each : withoutDetails(each),
  );
  if (resources.length === 0) return undefined;
  return {
    digest: hash('sha256', JSON.stringify([state.lineage, resources])),
    document: withDigest({ ...after, resources }),
  };
}

/** Removes the details that the page does not need. References, the manifest position and uncompared fields remain. */
function withoutDetails({ address, kind, action, id, source, depends_on, ...rest }: PlannedResource): PlannedResource {
  const { previous_address, ignore_drift, released } = rest;
  return {
    ...{ address, kind, action, id, source, reason: 'in sync', changes: [], depends_on },
    ...(previous_address !== undefined && { previous_address }),
    ...(ignore_drift !== undefined && { ignore_drift }),
    ...(released !== undefined && { released }),
  };
}

/** Summarizes a state outside the fleet's database. Its digest changes only if an id, an orphan or the location changes. */
function externalStateOf(
  { resources }: PlanDocument,
  orphans: RunReport['orphans'],
  location: string,
): NonNullable<FinishedRun['external']> {
  const existing = resources.flatMap(({ address, id }) => (id === null ? [] : [[address, { id }] as const]));
  const state = {
    location,
    resources: Object.fromEntries(existing.sort(([a], [b]) => compareText(a, b))),
    orphans,
  };
  return { digest: hash('sha256', JSON.stringify(state)), state };
}

/** Returns the outcome of a run that has no report. Without an error, the run was stopped. */
export function failedOutcome(error: unknown, { since, ...end }: RunEnd & { readonly since: Date }): FinishedRun {
  const report: RunReport = {
    number: 1,
    triggers: [],
    askedBy: [],
    mode: end.row.mode,
    startedAt: since,
    seconds: (end.now.getTime() - since.getTime()) / 1000,
    ...EMPTY_OUTCOME,
    result: error === undefined ? 'interrupted' : 'failed',
    error,
  };
  const { version, commit } = end.row;
  return outcomeOf({ report, version: { version, commit }, redact: (text) => text }, end);
}
