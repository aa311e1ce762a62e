import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { actions, writes } from '../../engine/plan/plan-actions.ts';
import { isNotApplied, type PlanDocument } from '../../engine/plan/plan-document.ts';
import type { RequestEvent } from '../../platform/transport.ts';
import type { RequestResult } from '../../runs/drift-request/reconcile-request.ts';
import { type RunReport, runResults } from '../run-report.ts';

/** The result of a notification. A delayed notification has a second result later. */
export type DeliveryResult = 'delivered' | 'delayed' | 'failed' | 'dropped';

/** The Prometheus metrics of a watch. */
export type Metrics = ReturnType<typeof createMetrics>;

/** Creates a metrics registry, and functions that add metrics to the registry. */
export function createInstruments() {
  const registry = new Registry();
  const registers = [registry];
  return {
    registry,
    gauge: <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []) =>
      new Gauge<Label>({ name, help, labelNames, registers }),
    counter: <Label extends string>(name: string, help: string, labelNames: readonly Label[]) =>
      new Counter<Label>({ name, help, labelNames, registers }),
    histogram: (name: string, help: string, buckets: readonly number[]) =>
      new Histogram({ name, help, buckets: [...buckets], registers }),
  };
}

/** The buckets of run durations, in seconds. */
export const RUN_DURATION_BUCKETS = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800];

/** The status of a resource after a run: its planned action if the run did not attempt it, otherwise the result. */
const statuses = [
  'in_sync',
  'not_applied',
  ...actions.filter((action) => action !== 'noop'),
  'failed',
  'skipped',
] as const;

type Status = (typeof statuses)[number];

/** The statuses of the pull request for drift. `failing`: the last attempt to update it failed. */
export const requestStatuses = [
  ...(['none', 'open', 'closed', 'rejected', 'foreign', 'behind'] satisfies RequestResult['is'][]),
  'failing',
] as const;

export function createMetrics(version: string) {
  const { registry, gauge, counter, histogram } = createInstruments();
  const runs = counter('voxform_runs_total', 'Runs, by result.', ['result']);
  for (const result of runResults) runs.inc({ result }, 0);
  const durations = histogram('voxform_run_duration_seconds', 'Duration of runs.', RUN_DURATION_BUCKETS);
  const running = gauge('voxform_run_in_progress', '1 while a run is in progress.');
  const paused = gauge('voxform_paused', '1 while runs are paused.');
  const resources = gauge('voxform_resources', 'Resources after the last run, by status.', ['status']);
  const drifted = gauge('voxform_drifted_resources', 'Resources that drifted since the last apply.');
  const missing = gauge('voxform_missing_resources', 'Resources whose record is missing from the platform.');
  const changes = counter('voxform_changes_total', 'Planned writes, by action and result.', ['action', 'result']);
  const requests = counter('voxform_api_requests_total', 'Requests to the platform, retries included.', [
    'method',
    'status',
  ]);
  const retries = counter('voxform_api_retries_total', 'Retried requests to the platform.', ['method']);
  const busy = gauge('voxform_busy_seconds', 'Seconds for which another run has held the lock; 0 if it is free.');
  const lastRun = gauge('voxform_last_run_timestamp_seconds', 'Start of the last run.');
  const lastSuccess = gauge('voxform_last_success_timestamp_seconds', 'Start of the last successful run.');
  const valid = gauge('voxform_manifests_valid', '0 while the newest manifests are invalid.');
  const reached = gauge('voxform_source_reached', '0 while the source of the manifests cannot be fetched.');
  const held = gauge('voxform_changes_held', 'Resources whose changes the last run held back, by reason.', ['why']);
  const violations = gauge(
    'voxform_policy_violations',
    'Policy violations in the last plan that are not waived, by severity.',
    ['severity'],
  );
  const request = gauge(
    'voxform_drift_request',
    '1 for the current status of the pull request for drift, 0 for all others.',
    ['status'],
  );
  const commit = gauge('voxform_commit_info', 'The commit in use.', ['commit']);
  const notifications = counter('voxform_notifications_total', 'Notifications, by result.', ['result']);
  for (const result of ['delivered', 'delayed', 'failed', 'dropped']) notifications.inc({ result }, 0);
  gauge('voxform_build_info', 'The version of voxform.', ['version']).set({ version }, 1);

  return {
    contentType: registry.contentType,
    text: () => registry.metrics(),
    began: () => running.set(1),
    paused: (isPaused: boolean) => paused.set(Number(isPaused)),
    finished(report: RunReport) {
      running.set(0);
      runs.inc({ result: report.result });
      durations.observe(report.seconds);
      const at = report.startedAt.getTime() / 1000;
      lastRun.set(at);
      busy.set(report.busy?.seconds ?? 0);
      if (report.result === 'ok') lastSuccess.set(at);
      const isRead = report.invalid !== undefined || report.workspace !== undefined;
      if (isRead) valid.set(report.invalid === undefined ? 1 : 0);
      const isReached = report.fetchProblem === undefined;
      if (!isReached || isRead) reached.set(isReached ? 1 : 0);
      if (report.commit !== undefined) {
        commit.reset();
        commit.set({ commit: report.commit }, 1);
      }
      if (report.request !== undefined) {
        const { kept, problem } = report.request;
        const now = problem === undefined ? (kept?.is ?? 'none') : 'failing';
        for (const status of requestStatuses) request.set({ status }, Number(status === now));
      }
      if (report.plan === undefined) return;
      for (const [severity, count] of Object.entries(violationsIn(report.plan))) violations.set({ severity }, count);
      for (const [status, count] of countsOf(report)) resources.set({ status }, count);
      drifted.set(report.drift.length);
      missing.set(report.missing.length);
      held.reset();
      const open = report.plan.resources.filter(({ action }) => writes.has(action)).length;
      if (report.hold !== undefined) held.set({ why: report.hold.reason }, open);
      for (const { action, result } of report.applied) changes.inc({ action, result: result.status });
    },
    request({ method, status, error, attempt }: RequestEvent) {
      requests.inc({ method, status: String(status ?? error ?? 'none') });
      if (attempt > 1) retries.inc({ method });
    },
    notification: (result: DeliveryResult) => notifications.inc({ result }),
  };
}

export function violationsIn({ violations = [] }: Pick<PlanDocument, 'violations'>) {
  const open = violations.filter(({ waived }) => waived === undefined);
  const deny = open.filter(({ severity }) => severity === 'deny').length;
  return { deny, warn: open.length - deny };
}

/** Returns the number of resources by status after the run. */
export function countsOf(report: Pick<RunReport, 'plan' | 'applied'>): ReadonlyMap<Status, number> {
  const { plan, applied } = report;
  const counts = new Map<Status, number>(statuses.map((status) => [status, 0]));
  const results = new Map(applied.map(({ address, result }) => [address, result]));
  for (const resource of plan?.resources ?? []) {
    const { address, action } = resource;
    const result = results.get(address);
    const isKept = result?.status === 'done' ? result.notApplied !== undefined : isNotApplied(resource);
    const isDone = action === 'noop' || result?.status === 'done';
    const status = isDone ? (isKept ? 'not_applied' : 'in_sync') : (result?.status ?? action);
    counts.set(status as Status, (counts.get(status as Status) ?? 0) + 1);
  }
  return counts;
}
