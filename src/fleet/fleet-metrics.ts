import {
  createInstruments,
  type DeliveryResult,
  RUN_DURATION_BUCKETS,
  requestStatuses,
} from '../operator/health/metrics.ts';
import { type RunReport, runResults } from '../operator/run-report.ts';
import type { FleetFigures } from './rows/status-rows.ts';

/**
 * Creates the Prometheus metrics of a fleet. No metric has a label for the workspace.
 * @param figures returns the figures of the whole fleet. Called for each scrape.
 */
export function createFleetMetrics(version: string, figures: () => Promise<FleetFigures>) {
  const { registry, gauge, counter, histogram } = createInstruments();
  const workspaces = gauge('voxform_fleet_workspaces', 'Workspaces of the fleet, by status.', ['status']);
  const processes = gauge('voxform_fleet_processes', 'Processes of the fleet, by status.', ['status']);
  const fleetLateness = gauge(
    'voxform_fleet_lateness_seconds',
    'Delay of the most overdue run, queued or not; 0 if no run is overdue.',
  );
  const oldestCheck = gauge(
    'voxform_fleet_oldest_check_seconds',
    'Longest time since the last check of a workspace, or since its discovery if it was never checked.',
  );
  const frozen = gauge('voxform_fleet_frozen_seconds', 'Seconds since the fleet was frozen; 0 if it is not frozen.');
  const orphans = gauge('voxform_fleet_orphans', 'Open orphans after the last runs.');
  const sourceAges = gauge('voxform_fleet_source_age_seconds', 'Age of the last fetch of a source.', ['source']);
  const sourceFailures = gauge('voxform_fleet_source_failing', '1 if the last fetch of a source failed, otherwise 0.', [
    'source',
  ]);
  const brokenProjects = gauge('voxform_fleet_broken_projects', 'Projects of a source that cannot be used.', [
    'source',
  ]);
  const violations = gauge(
    'voxform_fleet_policy_violations',
    'Violations of policies in the last plans, by severity.',
    ['severity'],
  );
  const requests = gauge('voxform_fleet_drift_requests', 'Workspaces with a drift request, by its status.', ['status']);
  const runs = counter('voxform_fleet_runs_total', 'Runs of this process, by result.', ['result']);
  for (const result of runResults) runs.inc({ result }, 0);
  const lateness = histogram(
    'voxform_fleet_run_lateness_seconds',
    'Start delay of the runs of this process.',
    [1, 2, 5, 10, 30, 60, 300, 1800],
  );
  const durations = histogram(
    'voxform_fleet_run_duration_seconds',
    'Duration of the runs of this process.',
    RUN_DURATION_BUCKETS,
  );
  const notifications = counter('voxform_notifications_total', 'Notifications, by result.', ['result']);
  gauge('voxform_build_info', 'The version of voxform.', ['version']).set({ version }, 1);

  return {
    contentType: registry.contentType,
    async text() {
      const now = await figures();
      for (const [status, count] of Object.entries(now.counts)) workspaces.set({ status }, count);
      for (const status of ['alive', 'ending', 'dead'])
        processes.set({ status }, now.processes.filter((each) => each.status === status).length);
      fleetLateness.set(now.lateness);
      orphans.set(now.orphans);
      frozen.set(now.frozen === null ? 0 : (Date.parse(now.at) - Date.parse(now.frozen.at)) / 1000);
      if (now.oldestCheckAge !== null) oldestCheck.set(now.oldestCheckAge);
      for (const each of [sourceAges, sourceFailures, brokenProjects]) each.reset();
      for (const [severity, count] of Object.entries(now.violations)) violations.set({ severity }, count);
      for (const status of requestStatuses) requests.set({ status }, now.requests[status] ?? 0);
      for (const { name: source, fetchedAge, problem, broken, removed } of now.sources) {
        if (removed) continue;
        if (fetchedAge !== null) sourceAges.set({ source }, fetchedAge);
        sourceFailures.set({ source }, problem === null ? 0 : 1);
        brokenProjects.set({ source }, broken.length);
      }
      return registry.metrics();
    },
    /** @param secondsLate the time between the due time and the start. */
    run(report: RunReport | undefined, secondsLate: number) {
      runs.inc({ result: report?.result ?? 'failed' });
      lateness.observe(Math.max(0, secondsLate));
      if (report !== undefined) durations.observe(report.seconds);
    },
    notification: (result: DeliveryResult) => notifications.inc({ result }),
  };
}
