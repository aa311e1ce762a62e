import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { UserError } from '../../../problems/user-error.ts';
import {
  describeHolder,
  formatDuration,
  type LockHolder,
  type LockInfo,
  lockFor,
  lockWithId,
  refuseWhenAborted,
} from '../../lock-info.ts';
import { beginningLine, unlockLine } from '../../run-history.ts';
import { encryptLine } from '../../seal.ts';
import type { LockRequest } from '../../store.ts';
import type { StoreUser } from '../backend.ts';
import { writeChange } from './change.ts';
import { type ObjectStore, type StoredContent, type StoredLock, WriteConflict } from './object-store.ts';
import type { Retries } from './retries.ts';

/*
 * The lock is part of the stored content, so that taking the lock is a normal write, which succeeds for only one of several runs. If the
 * server has its own lock, that lock is taken first.
 */

export interface LockContext {
  readonly store: ObjectStore;
  readonly user: StoreUser;
  readonly retries: Retries;
}

export interface AcquiredLock {
  readonly lock: StoredLock;
  readonly content: StoredContent;
}

/** The maximum number of write conflicts for a run that does not wait. */
const MAX_CONFLICTS = 10;

/** Takes the lock. If another run holds the lock, waits as long as the request allows. */
export async function takeLock(locking: LockContext, request: LockRequest): Promise<AcquiredLock> {
  const { store } = locking;
  const deadline = performance.now() + request.timeoutSeconds * 1000;
  const { poll } = store.timing;
  let wait = poll / 8;
  const pause = async (milliseconds: number): Promise<void> => {
    const jittered = milliseconds * (0.5 + Math.random());
    await delay(jittered, undefined, { signal: request.signal }).catch(() => refuseWhenAborted(request.signal));
  };
  let isReported = false;
  for (let conflicts = 0; ; ) {
    refuseWhenAborted(request.signal);
    const result = await tryLock(locking, request);
    const remaining = deadline - performance.now();
    if (result === 'again') {
      conflicts += 1;
      if (conflicts >= MAX_CONFLICTS && remaining <= 0) throw tooManyConflicts(locking, conflicts);
      await pause(Math.min(poll, (poll / 20) * conflicts));
      continue;
    }
    if ('lock' in result) return result;
    if (remaining <= 0) throw lockHeldError(result, store);
    if (!isReported) request.notice(`waiting for the lock of ${store.location}, held by ${describeHolder(result)}`);
    isReported = true;
    await pause(Math.min(remaining, wait));
    wait = Math.min(wait * 1.5, poll);
  }
}

/** @returns the lock, or its holder; `again` if the holder has just changed. */
async function tryLock(
  { store, user, retries }: LockContext,
  { operation, notice, commit, isStep = false }: LockRequest,
): Promise<AcquiredLock | LockHolder | 'again'> {
  const { gate, location, timing } = store;
  const content = await readLockContent({ store, user, retries });
  const holder = holderIn(content);
  if (holder !== undefined && !isAbandoned(content, store)) return holder;
  const lock = newLock({ store, user }, operation);
  const gateHolder = await retries.write(async (signal) => gate?.enter(lock, signal));
  if (gateHolder !== undefined && gateHolder.id !== lock.id) {
    if (
      holder?.id !== gateHolder.id &&
      !isOlderThan(gateHolder.id, user.now().getTime() - timing.takeoverAfter({ operation: '' }))
    ) {
      return { ...unknownHolder, ...gateHolder, secondsSinceHeartbeat: undefined };
    }
    await retries.write(async (signal) => gate?.leave(gateHolder.id, signal));
    return 'again';
  }
  try {
    const change = {
      write: randomUUID(),
      summary: `${operation}: lock`,
      lock,
      ...(!isStep && { history: await encryptLine(beginningLine(lock, await commit), lock.id, user.seal) }),
    };
    const locked = await writeChange({ store, retries }, change, content);
    if (holder !== undefined) {
      const previous = content.isHolderDead
        ? 'a dead process'
        : `a run without a heartbeat for ${formatDuration(holder.secondsSinceHeartbeat ?? 0)}`;
      notice(
        `acquired the lock of ${location} from ${previous}: ${describeHolder({ ...holder, secondsSinceHeartbeat: undefined })}`,
      );
    }
    return { lock, content: locked };
  } catch (error) {
    await leave({ store, user, retries }, lock.id).catch(() => undefined);
    if (error instanceof WriteConflict) return 'again';
    throw error;
  }
}

/** Releases the server's own lock or the lock file, if it still exists. */
export function leave({ store: { gate, local }, retries }: LockContext, id: string): Promise<void> {
  return retries.write(async (signal) => gate?.leave(id, signal) ?? local?.release(id));
}

/** Removes the lock with this id, even if another run holds it. */
export async function breakLock({ store, user, retries }: LockContext, id: string): Promise<LockHolder> {
  const { location } = store;
  for (;;) {
    const content = await readLockContent({ store, user, retries });
    const found = content.lock ?? (await findGateHolder({ store, user, retries }));
    const { secondsSinceHeartbeat } = content;
    const holder = lockWithId(id, found, { location, secondsSinceHeartbeat });
    try {
      const line = unlockLine(holder, `${user.user}@${user.host}`);
      const history = await encryptLine(line, holder.id, user.seal);
      const change = { write: randomUUID(), summary: 'state unlock', lock: null, history };
      if (content.lock !== undefined) await writeChange({ store, retries }, change, content);
      await leave({ store, user, retries }, holder.id);
      return { ...infoOf(holder), secondsSinceHeartbeat };
    } catch (error) {
      if (!(error instanceof WriteConflict)) throw error;
    }
  }
}

/** Finds the holder of the server's own lock by requesting that lock. */
async function findGateHolder({ store, user, retries }: LockContext): Promise<LockInfo | undefined> {
  const { gate } = store;
  if (gate === undefined) return undefined;
  const lock = newLock({ store, user }, 'state unlock');
  const holder = await retries.write((signal) => gate.enter(lock, signal));
  if (holder !== undefined && holder.id !== lock.id) return { ...unknownHolder, ...holder };
  await retries.write((signal) => gate.leave(lock.id, signal));
  return undefined;
}

/** Reads the lock. If the store cannot read only the lock, reads the complete content. */
export function readLockContent({ store, retries }: LockContext): Promise<StoredContent> {
  return retries.read((signal) => store.readLock?.(signal) ?? store.read(signal));
}

/** Returns the holder of the lock, even if its heartbeats have stopped. */
function holderIn({ lock, secondsSinceHeartbeat }: StoredContent): LockHolder | undefined {
  return lock && { ...infoOf(lock), secondsSinceHeartbeat };
}

/** Returns the holder of the lock; undefined if other runs may take the lock over. */
export function livingHolder(content: StoredContent, store: ObjectStore): LockHolder | undefined {
  return isAbandoned(content, store) ? undefined : holderIn(content);
}

function isAbandoned({ lock, secondsSinceHeartbeat = 0, isHolderDead }: StoredContent, store: ObjectStore): boolean {
  if (lock === undefined) return false;
  return isHolderDead === true || secondsSinceHeartbeat * 1000 >= store.timing.takeoverAfter(lock);
}

function newLock({ store, user }: Pick<LockContext, 'store' | 'user'>, operation: string): StoredLock {
  const id = store.gate === undefined ? randomUUID() : timedId(user.now());
  const lock = lockFor(user, { id, operation });
  return { ...lock, heard: lock.since };
}

/** Creates a UUID of version 7, which contains the time, because some servers report only the id of a lock. */
function timedId(now: Date): string {
  const time = now.getTime().toString(16).padStart(12, '0');
  const [b, c, d] = ['7', '8', ''].map((first) => `${first}${randomBytes(8).toString('hex')}`);
  return `${time.slice(0, 8)}-${time.slice(8)}-${b?.slice(0, 4)}-${c?.slice(0, 4)}-${d?.slice(0, 12)}`;
}

/** True for a UUID of version 7 whose time is before `moment`. False for an id that contains no time. */
function isOlderThan(id: string, moment: number): boolean {
  const time = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-8/.exec(id);
  return time !== null && Number.parseInt(`${time[1]}${time[2]}`, 16) < moment;
}

const unknownHolder: Omit<LockInfo, 'id'> = {
  operation: 'an unknown command',
  who: 'another program',
  host: '',
  pid: 0,
  since: '',
  voxform_version: '',
};

/** Returns the error for a held lock. The hint names the earliest time of a takeover if the last heartbeat is known. */
function lockHeldError(holder: LockHolder, { location, timing }: ObjectStore): UserError {
  const { id, secondsSinceHeartbeat: silence } = holder;
  const timeout = timing.takeoverAfter(holder) / 1000;
  const takeover =
    silence === undefined
      ? ''
      : ` Another run can take over the lock after ${formatDuration(timeout)} without a heartbeat, in ${formatDuration(Math.ceil(timeout - silence))} at the earliest.`;
  return new UserError(`the state ${location} is locked by ${describeHolder(holder)}`, {
    hint: `Wait for the lock with --lock-timeout 5m.${takeover}`,
    next: [{ action: 'unlock', id }],
  });
}

function tooManyConflicts({ store }: LockContext, conflicts: number): UserError {
  return new UserError(`other runs took the lock of ${store.location} ${conflicts} times`, {
    hint: 'Wait for the lock with --lock-timeout 5m.',
  });
}

function infoOf({ heard: _, ...info }: StoredLock | (LockInfo & { readonly heard?: string })): LockInfo {
  return info;
}
