import type { Json } from '../../values/json.ts';
import { VERSION } from '../../version.ts';
import { runSummary } from '../run-summary.ts';
import type { WatchStatus } from '../workspace-watch.ts';

export function statusJson(status: WatchStatus, source: string, mode: string): Json {
  const { last, lastOk, paused } = status;
  const known = last?.workspace ?? lastOk?.workspace;
  return {
    version: VERSION,
    workspace: known?.name ?? null,
    workspace_id: known?.id ?? null,
    source,
    mode,
    ready: isReady(status),
    running: status.running,
    ending: status.ending,
    runs: status.runs,
    failures: status.failures,
    paused: paused === undefined ? null : { ...paused, at: paused.at.toISOString() },
    next_run_in_seconds: status.secondsUntilNext === undefined ? null : Math.round(status.secondsUntilNext * 10) / 10,
    busy_seconds: last?.busy === undefined ? null : Math.round(last.busy.seconds),
    commit: last?.commit ?? lastOk?.commit ?? null,
    last_success_at: lastOk?.startedAt.toISOString() ?? null,
    last_run: last === undefined ? null : runSummary(last),
  };
}

/** Ready from the first successful run until shutdown: an outage of the platform is for alerts, not for restarts. */
export function isReady({ lastOk, ending }: WatchStatus): boolean {
  return lastOk !== undefined && !ending;
}
