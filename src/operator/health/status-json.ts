import type { Json } from '../../values/json.ts';
import { VERSION } from '../../version.ts';
import { holdMessage, invalidLines, messageOf, planWords } from '../messages.ts';
import type { RunReport } from '../run-report.ts';
import type { WatchStatus } from '../watch.ts';
import { countsOf } from './metrics.ts';

interface StatusFacts {
  readonly status: WatchStatus;
  readonly source: string;
  readonly mode: string;
}

/** What `/status` says. */
export function statusJson({ status, source, mode }: StatusFacts): Json {
  const { last, lastOk } = status;
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
    next_run_in_seconds:
      status.secondsUntilNext === undefined ? null : Math.round(status.secondsUntilNext * 10) / 10,
    busy_seconds: last?.busy === undefined ? null : Math.round(last.busy.seconds),
    commit: last?.commit ?? lastOk?.commit ?? null,
    last_success_at: lastOk?.startedAt.toISOString() ?? null,
    last_run: last === undefined ? null : runJson(last),
  };
}

/** Ready from the first run that succeeded until the end begins: an outage of the platform is for alerts, not for restarts. */
export function isReady({ lastOk, ending }: WatchStatus): boolean {
  return lastOk !== undefined && !ending;
}

function runJson(report: RunReport): Json {
  const {
    number,
    result,
    triggers,
    startedAt,
    seconds,
    error,
    invalid,
    fetchProblem,
    drift,
    missing,
    hold,
    applied,
    workspaceFlag = '',
  } = report;
  return {
    number,
    result,
    triggers: [...triggers],
    started_at: startedAt.toISOString(),
    seconds: Math.round(seconds * 1000) / 1000,
    manifests_valid: invalid === undefined,
    problems: invalid === undefined ? [] : invalidLines(invalid),
    fetch_problem: fetchProblem === undefined ? null : messageOf(fetchProblem, workspaceFlag),
    error: error === undefined ? null : messageOf(error, workspaceFlag),
    resources:
      report.plan === undefined
        ? {}
        : Object.fromEntries([...countsOf(report)].filter(([, count]) => count > 0)),
    drift: drift.map(({ address, fields }) => ({ address, fields: [...fields] })),
    missing: missing.map(({ address, id, since }) => ({
      address,
      id,
      since: since ?? startedAt.toISOString(),
    })),
    held:
      hold === undefined
        ? null
        : { why: hold.why, message: holdMessage(hold, planWords(report), workspaceFlag) },
    applied: applied.map(({ address, action, result: { status } }) => ({ address, action, result: status })),
  };
}
