import { requestJson } from '../output/request-text.ts';
import type { Json, JsonObject } from '../values/json.ts';
import { VERSION } from '../version.ts';
import { countsOf } from './health/metrics.ts';
import { holdMessage, invalidLines, messageOf, planWords } from './messages.ts';
import type { RequestMemory, RunReport } from './run-report.ts';
import type { WatchStatus } from './workspace-watch.ts';

export function requestSummary({ kept, problem }: RequestMemory): RequestSummary {
  const request = kept === undefined ? { status: null, change: null, url: null, message: null } : requestJson(kept);
  return { ...request, problem: problem ?? null };
}

interface RequestSummary extends JsonObject {
  readonly status: string | null;
  readonly url: string | null;
  readonly message: string | null;
  readonly problem: string | null;
}

/** Converts a run report to plain data. Does not redact secrets. */
function runSummary(report: RunReport): JsonObject {
  const { startedAt, error, invalid, fetchProblem, hold, request, selection } = report;
  return {
    number: report.number,
    result: report.result,
    triggers: [...report.triggers],
    started_at: startedAt.toISOString(),
    seconds: Math.round(report.seconds * 1000) / 1000,
    manifests_valid: invalid === undefined,
    problems: invalid === undefined ? [] : invalidLines(invalid),
    fetch_problem: fetchProblem === undefined ? null : messageOf(fetchProblem, selection),
    error: error === undefined ? null : messageOf(error, selection),
    resources:
      report.plan === undefined ? {} : Object.fromEntries([...countsOf(report)].filter(([, count]) => count > 0)),
    drift: report.drift.map(({ address, fields }) => ({ address, fields: [...fields] })),
    missing: report.missing.map(({ address, id, since }) => ({
      address,
      id,
      since: since ?? startedAt.toISOString(),
    })),
    held: hold === undefined ? null : { why: hold.reason, message: holdMessage(hold, planWords(report), selection) },
    pull_request: request === undefined ? null : requestSummary(request),
    applied: report.applied.map(({ address, action, result: { status } }) => ({ address, action, result: status })),
  };
}

export function statusJson(status: WatchStatus, source: string, mode: string): Json {
  const { last, lastOk, paused } = status;
  const workspace = last?.workspace ?? lastOk?.workspace;
  return {
    version: VERSION,
    workspace: workspace?.name ?? null,
    workspace_id: workspace?.id ?? null,
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

/** True from the first successful run until shutdown. An outage of the platform must cause alerts, not restarts. */
export function isReady({ lastOk, ending }: WatchStatus): boolean {
  return lastOk !== undefined && !ending;
}
