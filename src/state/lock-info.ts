import { z } from 'zod';
import { UserError } from '../problems/user-error.ts';
import { lazyObject } from '../values/described.ts';
import type { Immutable } from '../values/json.ts';
import { lazy } from '../values/lazy.ts';

export const ciJob = lazy(() => z.strictObject({ name: z.string(), url: z.string() }).describe('The CI job.'));

export type CiJob = Immutable<z.infer<ReturnType<typeof ciJob>>>;

/** The JSON form of a lock. */
export const lockInfo = lazyObject(() => ({
  id: z.string().min(1),
  /** The command, e.g. `apply`. */
  operation: z.string(),
  /** user@host */
  who: z.string(),
  host: z.string(),
  pid: z.int(),
  /** ISO 8601. */
  since: z.string(),
  voxform_version: z.string(),
  job: z.object(ciJob().shape).optional(),
}));

export type LockInfo = Immutable<z.infer<ReturnType<typeof lockInfo>>>;

export interface LockHolder extends LockInfo {
  /** Seconds since the holder's last heartbeat; undefined if unknown. */
  readonly secondsSinceHeartbeat: number | undefined;
}

/** The process that takes locks. */
export interface LockUser {
  readonly host: string;
  readonly user: string;
  readonly pid: number;
  /** Present in CI. */
  readonly job?: CiJob | undefined;
  readonly version: string;
  now(): Date;
}

export function lockFor(
  { user, host, pid, version, now, job }: LockUser,
  { id, operation }: Pick<LockInfo, 'id' | 'operation'>,
): LockInfo {
  const since = now().toISOString();
  const who = `${user}@${host}`;
  return {
    id,
    operation,
    who,
    host,
    pid,
    since,
    voxform_version: version,
    ...(job !== undefined && { job }),
  };
}

/** Formats a duration for messages about locks, e.g. `40 s` or `12 min`. */
export function formatDuration(seconds: number): string {
  return seconds < 120 ? `${seconds} s` : `${Math.ceil(seconds / 60)} min`;
}

/** Describes a holder for messages. */
export function describeHolder(holder: LockInfo & { readonly secondsSinceHeartbeat?: number | undefined }): string {
  const { who, pid, job, since, operation, id, secondsSinceHeartbeat } = holder;
  const process = job === undefined ? (pid === 0 ? '' : ` (process ${pid})`) : ` (${job.name} ${job.url})`;
  const start = since === '' ? '' : ` since ${since}`;
  const heartbeat =
    secondsSinceHeartbeat === undefined ? '' : `, last heartbeat ${formatDuration(secondsSinceHeartbeat)} ago`;
  return `${who}${process}${start} for ${operation}, lock ${id}${heartbeat}`;
}

export function refuseWhenAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new UserError('interrupted before the state was locked; nothing was written');
}

/** The minimum length of an abbreviated lock id. */
const MIN_ID_LENGTH = 8;

/**
 * Returns the current lock if `id` identifies it.
 * @throws UserError if there is no lock, or if `id` is neither the id of the lock nor an abbreviation of that id.
 */
export function lockWithId<Lock extends LockInfo>(
  id: string,
  holder: Lock | undefined,
  {
    location,
    secondsSinceHeartbeat,
  }: { readonly location: string; readonly secondsSinceHeartbeat?: number | undefined },
): Lock {
  if (holder === undefined) throw new UserError(`the state ${location} is not locked`);
  if (id === holder.id || (id.length >= MIN_ID_LENGTH && holder.id.startsWith(id))) return holder;
  throw new UserError(`the lock of ${location} has the id ${holder.id}, not ${id}`, {
    hint: `The holder is ${describeHolder({ ...holder, secondsSinceHeartbeat })}.`,
  });
}
