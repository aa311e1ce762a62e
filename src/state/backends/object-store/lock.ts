import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { UserError } from '../../../problems/user-error.ts';
import {
  describedHolder,
  heldBy,
  type LockHolder,
  type LockInfo,
  lockFor,
  lockWithId,
  refuseWhenAborted,
  spanText,
} from '../../lock-info.ts';
import { beginningLine, unlockLine } from '../../run-history.ts';
import { sealedLine } from '../../seal.ts';
import type { LockRequest } from '../../store.ts';
import type { StoreUser } from '../backend.ts';
import { writeChange } from './change.ts';
import { type ObjectStore, type StoredContent, type StoredLock, WriteConflict } from './object-store.ts';
import type { Retries } from './retries.ts';

/*
 * The lock is part of the stored content, so that taking it is a write like any other, which one of several runs wins. If the server has a
 * lock of its own, that one is taken first.
 */

export interface LockContext {
  readonly store: ObjectStore;
  readonly user: StoreUser;
  readonly retries: Retries;
}

export interface Locked {
  readonly lock: StoredLock;
  readonly held: StoredContent;
}

/** The maximum number of write conflicts for a run that does not wait. */
const MAX_CONFLICTS = 10;

/** Takes the lock. Waits for its holder as the request allows. */
export async function takeLock(locking: LockContext, request: LockRequest): Promise<Locked> {
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
    const taken = await tryLock(locking, request);
    const left = deadline - performance.now();
    if (taken === 'again') {
      conflicts += 1;
      if (conflicts >= MAX_CONFLICTS && left <= 0) throw holderChanges(locking, conflicts);
      await pause(Math.min(poll, (poll / 20) * conflicts));
      continue;
    }
    if ('lock' in taken) return taken;
    if (left <= 0) throw heldBy(taken, store.location, untilTakenOver(taken, store));
    if (!isReported) request.notice(`waiting for the lock of ${store.location}, held by ${describedHolder(taken)}`);
    isReported = true;
    await pause(Math.min(left, wait));
    wait = Math.min(wait * 1.5, poll);
  }
}

/** @returns the holder, if any; `again` if the holder has just changed. */
async function tryLock(
  { store, user, retries }: LockContext,
  { operation, notice, commit, isStep = false }: LockRequest,
): Promise<Locked | LockHolder | 'again'> {
  const { gate, location, timing } = store;
  const held = await readLockContent({ store, user, retries });
  const seen = holderIn(held);
  if (seen !== undefined && !isAbandoned(held, store)) return seen;
  const lock = newLock({ store, user }, operation);
  const before = await retries.write(async (signal) => gate?.enter(lock, signal));
  if (before !== undefined && before.id !== lock.id) {
    if (
      seen?.id !== before.id &&
      !isFromBefore(before.id, user.now().getTime() - timing.takeoverAfter({ operation: '' }))
    ) {
      return { ...unknownHolder, ...before, silentSeconds: undefined };
    }
    await retries.write(async (signal) => gate?.leave(before.id, signal));
    return 'again';
  }
  try {
    const change = {
      write: randomUUID(),
      summary: `${operation}: lock`,
      lock,
      ...(!isStep && { history: await sealedLine(beginningLine(lock, await commit), lock.id, user.seal) }),
    };
    const locked = await writeChange({ store, retries }, change, held);
    if (seen !== undefined) {
      const died = held.isHolderDead ? 'a dead process' : `a run silent for ${spanText(seen.silentSeconds ?? 0)}`;
      notice(
        `acquired the lock of ${location} from ${died}: ${describedHolder({ ...seen, silentSeconds: undefined })}`,
      );
    }
    return { lock, held: locked };
  } catch (error) {
    await leave({ store, user, retries }, lock.id).catch(() => undefined);
    if (error instanceof WriteConflict) return 'again';
    throw error;
  }
}

/** Releases the lock of the server or the lock file, if it remains. */
export function leave({ store: { gate, local }, retries }: LockContext, id: string): Promise<void> {
  return retries.write(async (signal) => gate?.leave(id, signal) ?? local?.release(id));
}

/** Removes the lock with this id, whoever holds it. */
export async function breakLock({ store, user, retries }: LockContext, id: string): Promise<LockHolder> {
  const { location } = store;
  for (;;) {
    const held = await readLockContent({ store, user, retries });
    const found = held.lock ?? (await gateHolder({ store, user, retries }));
    const { silentSeconds } = held;
    const holder = lockWithId(id, found, { location, silentSeconds });
    try {
      const line = unlockLine(holder, `${user.user}@${user.host}`);
      const history = await sealedLine(line, holder.id, user.seal);
      const change = { write: randomUUID(), summary: 'state unlock', lock: null, history };
      if (held.lock !== undefined) await writeChange({ store, retries }, change, held);
      await leave({ store, user, retries }, holder.id);
      return { ...infoOf(holder), silentSeconds };
    } catch (error) {
      if (!(error instanceof WriteConflict)) throw error;
    }
  }
}

/** The holder of the server's own lock, found by requesting it. */
async function gateHolder({ store, user, retries }: LockContext): Promise<LockInfo | undefined> {
  const { gate } = store;
  if (gate === undefined) return undefined;
  const lock = newLock({ store, user }, 'state unlock');
  const before = await retries.write((signal) => gate.enter(lock, signal));
  if (before !== undefined && before.id !== lock.id) return { ...unknownHolder, ...before };
  await retries.write((signal) => gate.leave(lock.id, signal));
  return undefined;
}

/** The stored content, with at least its lock. */
export function readLockContent({ store, retries }: LockContext): Promise<StoredContent> {
  return retries.read((signal) => store.readLock?.(signal) ?? store.read(signal));
}

/** The holder of the lock, even if its heartbeats have stopped. */
function holderIn({ lock, silentSeconds }: StoredContent): LockHolder | undefined {
  return lock && { ...infoOf(lock), silentSeconds };
}

/** The holder of the lock; undefined if other runs may take it over. */
export function livingHolder(held: StoredContent, store: ObjectStore): LockHolder | undefined {
  return isAbandoned(held, store) ? undefined : holderIn(held);
}

function isAbandoned({ lock, silentSeconds = 0, isHolderDead }: StoredContent, store: ObjectStore): boolean {
  if (lock === undefined) return false;
  return isHolderDead === true || silentSeconds * 1000 >= store.timing.takeoverAfter(lock);
}

function newLock({ store, user }: Pick<LockContext, 'store' | 'user'>, operation: string): StoredLock {
  const id = store.gate === undefined ? randomUUID() : timedId(user.now());
  const lock = lockFor(user, { id, operation });
  return { ...lock, heard: lock.since };
}

/** A UUID of version 7, which contains the time: some servers report only the id of a lock. */
function timedId(now: Date): string {
  const time = now.getTime().toString(16).padStart(12, '0');
  const [b, c, d] = ['7', '8', ''].map((first) => `${first}${randomBytes(8).toString('hex')}`);
  return `${time.slice(0, 8)}-${time.slice(8)}-${b?.slice(0, 4)}-${c?.slice(0, 4)}-${d?.slice(0, 12)}`;
}

/** False for an id without a time. */
function isFromBefore(id: string, moment: number): boolean {
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

/** A sentence on when a silent holder loses its lock; empty if its silence is unknown. */
function untilTakenOver(holder: LockHolder, store: ObjectStore): string {
  if (holder.silentSeconds === undefined) return '';
  const silence = store.timing.takeoverAfter(holder) / 1000;
  const left = Math.ceil(silence - holder.silentSeconds);
  return ` Another run takes it over once its holder has been silent for ${spanText(silence)}: in ${spanText(left)} at the earliest.`;
}

function holderChanges({ store }: LockContext, conflicts: number): UserError {
  return new UserError(`the lock of ${store.location} went to other runs ${conflicts} times`, {
    hint: 'Wait for it with --lock-timeout 5m.',
  });
}

function infoOf({ heard: _, ...info }: StoredLock | (LockInfo & { readonly heard?: string })): LockInfo {
  return info;
}
