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
import type { LockRequest } from '../../store.ts';
import type { StoreUser } from '../backend.ts';
import { writeChange } from './change.ts';
import { type ObjectStore, type StoredContent, type StoredLock, WriteConflict } from './object-store.ts';
import type { Retries } from './retries.ts';

/*
 * The lock is part of the stored content, so that taking it is a write like any other: one of several runs is first. If the server keeps
 * a lock besides, that one is taken before.
 */

export interface Locking {
  readonly store: ObjectStore;
  readonly user: StoreUser;
  readonly retries: Retries;
}

export interface Locked {
  readonly lock: StoredLock;
  readonly held: StoredContent;
}

/** How often another run may be first before one that does not wait gives up. */
const MOST_CONFLICTS = 10;

/** Takes the lock, waiting for its holder as the request allows. */
export async function takeLock(locking: Locking, request: LockRequest): Promise<Locked> {
  const { store } = locking;
  const deadline = performance.now() + request.timeoutSeconds * 1000;
  const { poll } = store.timing;
  let wait = poll / 8;
  const pause = async (milliseconds: number): Promise<void> => {
    const jittered = milliseconds * (0.5 + Math.random());
    await delay(jittered, undefined, { signal: request.signal }).catch(() =>
      refuseWhenAborted(request.signal),
    );
  };
  let isReported = false;
  for (let conflicts = 0; ; ) {
    refuseWhenAborted(request.signal);
    const taken = await tryLock(locking, request);
    const left = deadline - performance.now();
    if (taken === 'again') {
      conflicts += 1;
      if (conflicts >= MOST_CONFLICTS && left <= 0) throw changingHands(locking, conflicts);
      await pause(Math.min(poll, (poll / 20) * conflicts));
      continue;
    }
    if ('lock' in taken) return taken;
    if (left <= 0) throw heldBy(taken, store.location, untilTakenOver(taken, store));
    if (!isReported)
      request.notice(`waiting for the lock of ${store.location}, held by ${describedHolder(taken)}`);
    isReported = true;
    await pause(Math.min(left, wait));
    wait = Math.min(wait * 1.5, poll);
  }
}

/** @returns the holder, if there is one; `again` if the holder has just changed. */
async function tryLock(
  { store, user, retries }: Locking,
  { operation, notice, commit, isStep = false }: LockRequest,
): Promise<Locked | LockHolder | 'again'> {
  const { gate, location, timing } = store;
  const held = await lookAtLock({ store, user, retries });
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
      ...(!isStep && { history: beginningLine(lock, await commit) }),
    };
    const locked = await writeChange({ store, retries }, change, held);
    if (seen !== undefined) {
      const died = held.isHolderDead
        ? 'a dead process'
        : `a run silent for ${spanText(seen.silentSeconds ?? 0)}`;
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

/** Ends the lock of the server, or the lock file, if it is left. */
export function leave({ store: { gate, local }, retries }: Locking, id: string): Promise<void> {
  return retries.write(async (signal) => gate?.leave(id, signal) ?? local?.release(id));
}

/** Ends the lock with this id, whoever holds it. */
export async function breakLock({ store, user, retries }: Locking, id: string): Promise<LockHolder> {
  const { location } = store;
  for (;;) {
    const held = await lookAtLock({ store, user, retries });
    const found = held.lock ?? (await gateHolder({ store, user, retries }));
    const { silentSeconds } = held;
    const holder = lockWithId(id, found, { location, silentSeconds });
    try {
      const history = unlockLine(holder, `${user.user}@${user.host}`);
      const change = { write: randomUUID(), summary: 'state unlock', lock: null, history };
      if (held.lock !== undefined) await writeChange({ store, retries }, change, held);
      await leave({ store, user, retries }, holder.id);
      return { ...infoOf(holder), silentSeconds };
    } catch (error) {
      if (!(error instanceof WriteConflict)) throw error;
    }
  }
}

/** The holder of only the server's own lock, found by requesting it. */
async function gateHolder({ store, user, retries }: Locking): Promise<LockInfo | undefined> {
  const { gate } = store;
  if (gate === undefined) return undefined;
  const lock = newLock({ store, user }, 'state unlock');
  const before = await retries.write((signal) => gate.enter(lock, signal));
  if (before !== undefined && before.id !== lock.id) return { ...unknownHolder, ...before };
  await retries.write((signal) => gate.leave(lock.id, signal));
  return undefined;
}

/** The stored content, with at least its lock. */
export function lookAtLock({ store, retries }: Locking): Promise<StoredContent> {
  return retries.read((signal) => store.readLock?.(signal) ?? store.read(signal));
}

/** The holder of the lock, however long silent. */
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

function newLock({ store, user }: Pick<Locking, 'store' | 'user'>, operation: string): StoredLock {
  const id = store.gate === undefined ? randomUUID() : timedId(user.now());
  const lock = lockFor(user, { id, operation });
  return { ...lock, heard: lock.since };
}

/** A UUID of version 7, which contains the time: a server may report nothing of a lock but its id. */
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

function changingHands({ store }: Locking, conflicts: number): UserError {
  return new UserError(`the lock of ${store.location} went to other runs ${conflicts} times`, {
    hint: 'Wait for it with --lock-timeout 5m.',
  });
}

function infoOf({ heard: _, ...info }: StoredLock | (LockInfo & { readonly heard?: string })): LockInfo {
  return info;
}
