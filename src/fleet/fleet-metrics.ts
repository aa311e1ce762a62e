import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { DeliveryResult } from '../operator/health/metrics.ts';
import { type RunReport, runResults } from '../operator/run-report.ts';
import type { FleetFigures } from './rows/status-rows.ts';

/** The figures of a fleet, for Prometheus. None has a label for a workspace. */
export interface FleetMetrics {
  readonly contentType: string;
  text(): Promise<string>;
  /** @param lateness in seconds. */
  run(report: RunReport | undefined, lateness: number): void;
  notification(result: DeliveryResult): void;
}

/** @param figures of the whole fleet, asked for with each look. */
export function createFleetMetrics(version: string, figures: () => Promise<FleetFigures>): FleetMetrics {
  const registry = new Registry();
  const registers = [registry];
  const gauge = <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []) =>
    new Gauge<Label>({ name, help, labelNames, registers });

  const workspaces = gauge('voxform_fleet_workspaces', 'Workspaces of the fleet, by status.', ['status']);
  const processes = gauge('voxform_fleet_processes', 'Processes that serve the fleet, by status.', [
    'status',
  ]);
  const behind = gauge(
    'voxform_fleet_lateness_seconds',
    'How late the next run of the fleet is; 0 if none is.',
  );
  const oldest = gauge('voxform_fleet_oldest_check_seconds', 'Age of the oldest check of a workspace.');
  const sources = gauge('voxform_fleet_source_age_seconds', 'Age of the last fetch of a source.', ['source']);
  const broken = gauge('voxform_fleet_source_failing', '1 while a source cannot be fetched.', ['source']);
  const runs = new Counter({
    name: 'voxform_fleet_runs_total',
    help: 'Runs of this process, by result.',
    labelNames: ['result'],
    registers,
  });
  for (const result of runResults) runs.inc({ result }, 0);
  const lateness = new Histogram({
    name: 'voxform_fleet_run_lateness_seconds',
    help: 'How late the runs of this process began.',
    buckets: [1, 2, 5, 10, 30, 60, 300, 1800],
    registers,
  });
  const durations = new Histogram({
    name: 'voxform_fleet_run_duration_seconds',
    help: 'Duration of the runs of this process.',
    buckets: [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800],
    registers,
  });
  const notifications = new Counter({
    name: 'voxform_notifications_total',
    help: 'Notifications, by result.',
    labelNames: ['result'],
    registers,
  });
  gauge('voxform_build_info', 'The version of voxform.', ['version']).set({ version }, 1);

  return {
    contentType: registry.contentType,
    async text() {
      const now = await figures();
      for (const [status, count] of Object.entries(now.counts)) workspaces.set({ status }, count);
      for (const status of ['alive', 'ending', 'dead'])
        processes.set({ status }, now.processes.filter((each) => each.status === status).length);
      behind.set(now.lateness);
      if (now.oldestCheckAge !== null) oldest.set(now.oldestCheckAge);
      for (const { name: source, fetchedAge, problem } of now.sources) {
        if (fetchedAge !== null) sources.set({ source }, fetchedAge);
        broken.set({ source }, problem === null ? 0 : 1);
      }
      return registry.metrics();
    },
    run(report, late) {
      runs.inc({ result: report?.result ?? 'failed' });
      lateness.observe(Math.max(0, late));
      if (report !== undefined) durations.observe(report.seconds);
    },
    notification: (result) => notifications.inc({ result }),
  };
}
