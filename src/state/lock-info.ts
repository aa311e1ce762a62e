import { z } from 'zod';
import { UserError } from '../problems/user-error.ts';
import { lazyObject } from '../values/described.ts';
import type { Immutable } from '../values/json.ts';
import { lazily } from '../values/lazily.ts';

export const ciJob = lazily(() => z.strictObject({ name: z.string(), url: z.string() }).describe('The CI job.'));

export type CiJob = Immutable<z.infer<ReturnType<typeof ciJob>>>;

/** A lock in JSON. */
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
  /** Seconds since its last heartbeat; undefined if unknown. */
  readonly silentSeconds: number | undefined;
}

/** The process that takes locks. */
export interface LockUser {
  readonly host: string;
  readonly user: string;
  readonly pid: number;
  /** Present in CI. */
  readonly job?: CiJob | undefined;
  /** Version of voxform. */
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

/** `40 s` or `12 min`, for messages on locks. */
export function spanText(seconds: number): string {
  return seconds < 120 ? `${seconds} s` : `${Math.ceil(seconds / 60)} min`;
}

/** A holder, for messages. */
export function describedHolder(holder: LockInfo & { readonly silentSeconds?: number | undefined }): string {
  const { who, pid, job, since, operation, id, silentSeconds } = holder;
  const where = job === undefined ? (pid === 0 ? '' : ` (process ${pid})`) : ` (${job.name} ${job.url})`;
  const begun = since === '' ? '' : ` since ${since}`;
  const seen = silentSeconds === undefined ? '' : `, last seen ${spanText(silentSeconds)} ago`;
  return `${who}${where}${begun} for ${operation}, lock ${id}${seen}`;
}

/** @param wait a sentence about the takeover by another run. */
export function heldBy(holder: LockHolder, location: string, wait = ''): UserError {
  return new UserError(`the state ${location} is locked by ${describedHolder(holder)}`, {
    hint: `Wait for it with --lock-timeout 5m.${wait}`,
    next: [{ action: 'unlock', id: holder.id }],
  });
}

export function refuseWhenAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new UserError('interrupted before the state was locked; nothing was written');
}

/** The minimum length of an id prefix. */
const SHORTEST = 8;

/**
 * The lock in force.
 * @throws UserError if there is none, or if its id does not begin with this one.
 */
export function lockWithId<Lock extends LockInfo>(
  id: string,
  holder: Lock | undefined,
  { location, silentSeconds }: { readonly location: string; readonly silentSeconds?: number | undefined },
): Lock {
  if (holder === undefined) throw new UserError(`the state ${location} is not locked`);
  if (id === holder.id || (id.length >= SHORTEST && holder.id.startsWith(id))) return holder;
  throw new UserError(`the lock of ${location} has the id ${holder.id}, not ${id}`, {
    hint: `It is held by ${describedHolder({ ...holder, silentSeconds })}.`,
  });
}
