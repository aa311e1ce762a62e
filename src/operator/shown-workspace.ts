import { countWords } from '../output/action-words.ts';
import { plural } from '../output/plural.ts';
import type { Json, JsonObject } from '../values/json.ts';
import { type LastRun, lastRunOf } from './last-run.ts';
import type { Hold } from './run-report.ts';
import type { RunStatus, WorkspaceStatus } from './workspace-status.ts';

/** The displayed data of a workspace. */
export interface ShownWorkspace {
  readonly address: string;
  readonly status: WorkspaceStatus;
  readonly since: string;
  readonly mode: string;
  readonly intervalSeconds: number;
  readonly workspaceId: string | null;
  readonly baseUrl: string | null;
  /** The time when a run last read the platform. */
  readonly checkedAt: string | null;
  /** True if the last read is too long ago, regardless of the status. */
  readonly isOld: boolean;
  readonly dueAt: string;
  readonly asked: { readonly why: string; readonly by: string | null } | null;
  readonly failures: number;
  readonly paused: { readonly at: string; readonly by: string; readonly because: string | null } | null;
  readonly vanishedAt: string | null;
  readonly commit: string | null;
  /** A problem with the project, such as an unreadable voxform.yaml. */
  readonly problem: string | null;
  /** The waiting or approved plan. */
  readonly plan: {
    readonly id: string;
    readonly state: string;
    readonly madeAt: string;
    readonly by: string | null;
  } | null;
  /** The rejected plan, if it would otherwise wait for approval. */
  readonly rejected: {
    readonly id: string;
    readonly madeAt: string;
    readonly at: string;
    readonly by: string;
    readonly because: string | null;
  } | null;
  /** The results of the last run, from `resultsOf`. */
  readonly last: Json;
}

/** An entry in the list of runs. */
export interface StoredRun {
  readonly id: string;
  readonly command: 'watch' | 'fleet';
  /** The id of the run in the history of the state, if known. */
  readonly run?: string | undefined;
  readonly startedAt: Date;
  readonly seconds: number;
  readonly mode: string;
  readonly result: string;
  readonly why?: string | null;
  readonly askedBy: string | null;
  readonly commit?: string | null | undefined;
  readonly plan?: string | null;
  /** The id of the process; empty for a person's decision. */
  readonly process: string;
  /** The results, from `resultsOf`. */
  readonly summary: JsonObject;
}

/**
 * The results of a run are stale after this number of intervals, but at the earliest after this number of milliseconds: another process of
 * a fleet needs that time to take over from a dead process.
 */
export const STALE = { intervals: 3, minMilliseconds: 60_000 } as const;

/** The maximum number of workspaces that a list counts and divides into pages. A fleet may have many more. */
export const MAX_COUNTED = 10_000;

interface StatusFacts extends Pick<ShownWorkspace, 'paused' | 'vanishedAt' | 'intervalSeconds'> {
  /** The latest status that a run determined. */
  readonly status: RunStatus | 'never-run';
  readonly since: Date;
  readonly checkedAt: Date | undefined;
}

/** Returns the displayed status. `SHOWN_STATUS` computes the same in SQL: the fleet database filters and counts rows by status. */
export function shownStatus(
  { status, since, checkedAt, paused, vanishedAt, intervalSeconds }: StatusFacts,
  now: Date,
): Pick<ShownWorkspace, 'status' | 'since' | 'isOld'> {
  const staleAfterMs = Math.max(STALE.intervals * intervalSeconds * 1000, STALE.minMilliseconds);
  const staleAt = checkedAt && new Date(checkedAt.getTime() + staleAfterMs);
  const isOld = staleAt !== undefined && staleAt < now;
  if (vanishedAt !== null) return { status: 'vanished', since: vanishedAt, isOld };
  if (paused !== null) return { status: 'paused', since: paused.at, isOld };
  if (isOld && status !== 'failed' && status !== 'invalid')
    return { status: 'stale', since: staleAt.toISOString(), isOld };
  return { status, since: since.toISOString(), isOld };
}

const holdWords = {
  report: 'the mode is report',
  window: 'no window is open',
  frozen: 'the fleet is frozen',
  guard: 'refused by a guard',
  policy: 'denied by a policy',
} as const satisfies Partial<Record<Hold['reason'], string>>;

/** Returns a summary of the problems that need attention; empty if there are none. */
export function summaryOf(shown: ShownWorkspace): string {
  const { status, problem, paused, plan, last } = shown;
  const results = lastRunOf(last);
  const mayBeHeld = problem === null && status === 'pending' && results.result !== 'refused';
  const waitText = status !== 'waiting' && plan?.state === 'waiting' && `plan ${plan.id} waits for approval`;
  const text = problem ?? (paused === null ? wordsOf(results, status) : `paused by ${pauseText(paused)}`);
  return [text, mayBeHeld && heldText(shown), waitText].filter((each) => each).join('; ');
}

/** Returns the reason why changes are not applied, such as `the plan was rejected by ann`. */
export function heldText({ status, plan, rejected, last }: ShownWorkspace): string | undefined {
  if (status === 'in-sync' || plan !== null) return undefined;
  if (rejected !== null) return `the plan was rejected by ${rejected.by}`;
  const { hold } = lastRunOf(last);
  return hold !== null && Object.hasOwn(holdWords, hold) ? holdWords[hold as keyof typeof holdWords] : undefined;
}

const MAX_SUMMARY = 200;

function wordsOf(last: LastRun, status: ShownWorkspace['status']): string {
  const { result, error, problems, counts, drift, missing, hold, pull_request: request } = last;
  const [problem = ''] = status === 'failed' && error !== null ? [error] : problems;
  if (status === 'failed' || status === 'invalid') return problem.slice(0, MAX_SUMMARY);
  return [
    ...(result === 'refused' && hold !== null ? [`refused by a ${hold}`] : []),
    ...(drift.length === 0 || status === 'in-sync' ? [] : [`${drift.length} drifted`]),
    ...(missing.length === 0 ? [] : [`${missing.length} missing`]),
    ...countWords(counts),
    ...needWords(last),
    ...(status === 'drifted' ? [request?.problem ?? request?.message ?? []].flat() : []),
  ].join(', ');
}

/** Returns words such as `1 with manual steps` and `2 orphans`. */
export function needWords({ manual_steps: steps, orphans }: LastRun): string[] {
  return [
    ...(steps === 0 ? [] : [`${steps} with manual steps`]),
    ...(orphans === 0 ? [] : [plural(orphans, 'orphan')]),
  ];
}

export function pauseText({ by, because }: { readonly by: string; readonly because: string | null }): string {
  return because === null ? by : `${by}: ${because}`;
}
