import type { Json, JsonObject } from '../values/json.ts';
import type { Hold } from './run-report.ts';
import type { RunStatus, WorkspaceStatus } from './workspace-status.ts';

/** A workspace as people see it. */
export interface ShownWorkspace {
  readonly address: string;
  readonly status: WorkspaceStatus;
  readonly since: string;
  readonly mode: string;
  readonly intervalSeconds: number;
  readonly workspaceId: string | null;
  readonly baseUrl: string | null;
  /** When a run last read the platform. */
  readonly checkedAt: string | null;
  /** True if that is too long ago, whatever the status. */
  readonly isOld: boolean;
  readonly dueAt: string;
  readonly asked: { readonly why: string; readonly by: string | null } | null;
  readonly failures: number;
  readonly paused: { readonly at: string; readonly by: string; readonly because: string | null } | null;
  readonly vanishedAt: string | null;
  readonly commit: string | null;
  /** A problem of its project, such as an unreadable voxform.yaml. */
  readonly problem: string | null;
  /** Waiting or approved. */
  readonly plan: {
    readonly id: string;
    readonly state: string;
    readonly madeAt: string;
    readonly by: string | null;
  } | null;
  /** The plan that would wait if it were not rejected. */
  readonly rejected: {
    readonly id: string;
    readonly madeAt: string;
    readonly at: string;
    readonly by: string;
    readonly because: string | null;
  } | null;
  /** The results of the last run in the form of `resultsOf`. */
  readonly last: Json;
}

/** An entry of the list of runs. */
export interface KeptRun {
  readonly id: string;
  readonly command: 'watch' | 'fleet';
  /** Its id in the history of the state, if that is known. */
  readonly run?: string | undefined;
  readonly startedAt: Date;
  readonly seconds: number;
  readonly mode: string;
  readonly result: string;
  readonly why: string | null;
  readonly askedBy: string | null;
  readonly commit: string | null;
  readonly plan: string | null;
  /** Empty for a decision of a person. */
  readonly process: string;
  /** In the form of `resultsOf`. */
  readonly summary: JsonObject;
}

/**
 * The results of a run are stale after this many intervals, and not before this many milliseconds, in which another process of a fleet
 * can take over from a dead one.
 */
export const STALE = { intervals: 3, least: 60_000 } as const;

interface StatusFacts extends Pick<ShownWorkspace, 'paused' | 'vanishedAt' | 'intervalSeconds'> {
  /** Of the last run that found one. */
  readonly status: RunStatus | 'never-run';
  readonly since: Date;
  readonly checkedAt: Date | undefined;
}

/** The status that people see. `SHOWN` says the same in SQL: the database of a fleet finds and counts its rows by status. */
export function shownStatus(
  { status, since, checkedAt, paused, vanishedAt, intervalSeconds }: StatusFacts,
  now: Date,
): Pick<ShownWorkspace, 'status' | 'since' | 'isOld'> {
  const after = Math.max(STALE.intervals * intervalSeconds * 1000, STALE.least);
  const staleAt = checkedAt && new Date(checkedAt.getTime() + after);
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
  guard: 'a guard holds them',
  policy: 'a policy denies them',
  approval: 'the plan was rejected',
} as const satisfies Partial<Record<Hold['why'], string>>;

/** Why a run left changes, such as `the plan was rejected by ann`; undefined if it left none. */
export function holdText(hold: unknown, rejected: ShownWorkspace['rejected']): string | undefined {
  if (rejected !== null) return `${holdWords.approval} by ${rejected.by}`;
  return Object.hasOwn(holdWords, String(hold)) ? holdWords[hold as keyof typeof holdWords] : undefined;
}
