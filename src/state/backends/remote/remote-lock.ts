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
import type { Reaching } from './reaching.ts';
import {
  Overtaken,
  type RemoteContent,
  type RemoteLock,
  type RemotePlace,
  type RemoteTiming,
} from './remote-place.ts';
import { writeSurely } from './write-surely.ts';

/*
 * The lock is part of what a place holds, so that taking it is a write like any other: of several that want it, one is first. Where the
 * server keeps a lock besides, that one is taken before.
 */

export interface Locking {
  readonly place: RemotePlace;
  readonly user: StoreUser;
  readonly reaching: Reaching;
}

export interface Locked {
  readonly lock: RemoteLock;
  readonly held: RemoteContent;
}

/** How often somebody else may be first before a run that does not wait gives up. */
const MOST_MISSES = 10;

/** Takes the lock, waiting for its holder as the request allows. */
export async function takeLock(locking: Locking, request: LockRequest): Promise<Locked> {
  const { place } = locking;
  const deadline = performance.now() + request.timeoutSeconds * 1000;
  const { poll } = place.timing;
  const pause = async (milliseconds: number): Promise<void> => {
    const jittered = milliseconds * (0.5 + Math.random());
    await delay(jittered, undefined, { signal: request.signal }).catch(() =>
      refuseWhenAborted(request.signal),
    );
  };
  let isTold = false;
  for (let misses = 0; ; ) {
    refuseWhenAborted(request.signal);
    const taken = await tryLock(locking, request);
    const left = deadline - performance.now();
    if (taken === 'again') {
      misses += 1;
      if (misses >= MOST_MISSES && left <= 0) throw changingHands(locking, misses);
      await pause(Math.min(poll, (poll / 20) * misses));
      continue;
    }
    if ('lock' in taken) return taken;
    if (left <= 0) throw heldBy(taken, place.location, untilTakenOver(taken, place));
    if (!isTold)
      request.notice(`waiting for the lock of ${place.location}, held by ${describedHolder(taken)}`);
    isTold = true;
    await pause(Math.min(left, poll));
  }
}

/** @returns who holds it, where somebody does; `again` where that has just changed. */
async function tryLock(
  { place, user, reaching }: Locking,
  { operation, notice, commit, isStep = false }: LockRequest,
): Promise<Locked | LockHolder | 'again'> {
  const { gate, location, timing } = place;
  const held = await reaching.read((signal) => place.read(signal));
  const seen = holderIn(held);
  if (seen !== undefined && !isSilent(seen, place)) return seen;
  const lock = newLock(user, operation);
  const before = await reaching.write(async (signal) => gate?.enter(lock, signal));
  if (before !== undefined && before.id !== lock.id) {
    if (seen?.id !== before.id && !isFromBefore(before.id, user.now().getTime() - timing.patience)) {
      return { ...unknownHolder, ...before, silentSeconds: undefined };
    }
    await reaching.write(async (signal) => gate?.leave(before.id, signal));
    return 'again';
  }
  try {
    const change = {
      write: randomUUID(),
      summary: `${operation}: lock`,
      lock,
      ...(!isStep && { history: beginningLine(lock, await commit) }),
    };
    const locked = await writeSurely({ place, reaching }, change, held);
    if (seen !== undefined)
      notice(`acquired the lock of ${location}, whose holder fell silent: ${describedHolder(seen)}`);
    return { lock, held: locked };
  } catch (error) {
    await reaching.write(async (signal) => gate?.leave(lock.id, signal)).catch(() => undefined);
    if (error instanceof Overtaken) return 'again';
    throw error;
  }
}

/** Ends the lock with this id, whoever holds it. */
export async function breakLock({ place, user, reaching }: Locking, id: string): Promise<LockHolder> {
  const { gate, location } = place;
  for (;;) {
    const held = await reaching.read((signal) => place.read(signal));
    const found = held.lock ?? (await gateHolder({ place, user, reaching }));
    const { silentSeconds } = held;
    const holder = lockWithId(id, found, { location, silentSeconds });
    try {
      const history = unlockLine(holder, `${user.user}@${user.host}`);
      const change = { write: randomUUID(), summary: 'state unlock', lock: null, history };
      if (held.lock !== undefined) await writeSurely({ place, reaching }, change, held);
      await reaching.write(async (signal) => gate?.leave(holder.id, signal));
      return { ...infoOf(holder), silentSeconds };
    } catch (error) {
      if (!(error instanceof Overtaken)) throw error;
    }
  }
}

/** Who holds only the server's own lock, found out by asking for it. */
async function gateHolder({ place: { gate }, user, reaching }: Locking): Promise<LockInfo | undefined> {
  if (gate === undefined) return undefined;
  const lock = newLock(user, 'state unlock');
  const before = await reaching.write((signal) => gate.enter(lock, signal));
  if (before !== undefined && before.id !== lock.id) return { ...unknownHolder, ...before };
  await reaching.write((signal) => gate.leave(lock.id, signal));
  return undefined;
}

/** Who holds the lock, however long silent. */
function holderIn({ lock, silentSeconds }: RemoteContent): LockHolder | undefined {
  return lock && { ...infoOf(lock), silentSeconds };
}

/** The same unless its holder is taken to be dead. */
export function livingHolder(held: RemoteContent, place: RemotePlace): LockHolder | undefined {
  const holder = holderIn(held);
  return holder === undefined || isSilent(holder, place) ? undefined : holder;
}

function isSilent(holder: LockHolder, place: RemotePlace): boolean {
  return (holder.silentSeconds ?? 0) * 1000 >= millisecondsUntilTakeover(holder, place.timing);
}

/** For how long this holder may be silent. */
export function millisecondsUntilTakeover(
  { operation }: Pick<LockInfo, 'operation'>,
  { patience, patienceWithFleet = patience }: RemoteTiming,
): number {
  return operation === 'fleet' ? patienceWithFleet : patience;
}

function newLock(user: StoreUser, operation: string): RemoteLock {
  const lock = lockFor(user, { id: newId(user.now()), operation });
  return { ...lock, heard: lock.since };
}

/** A UUID of version 7: a server that tells only the id of a lock tells with it how old the lock is. */
function newId(now: Date): string {
  const time = now.getTime().toString(16).padStart(12, '0');
  const [b, c, d] = ['7', '8', ''].map((first) => `${first}${randomBytes(8).toString('hex')}`);
  return `${time.slice(0, 8)}-${time.slice(8)}-${b?.slice(0, 4)}-${c?.slice(0, 4)}-${d?.slice(0, 12)}`;
}

/** False for an id that tells no time. */
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

/** A sentence on when a silent holder loses its lock; empty where its silence cannot be told. */
function untilTakenOver(holder: LockHolder, place: RemotePlace): string {
  if (holder.silentSeconds === undefined) return '';
  const patience = millisecondsUntilTakeover(holder, place.timing) / 1000;
  const left = Math.ceil(patience - holder.silentSeconds);
  return ` Another run takes it over once its holder has been silent for ${spanText(patience)}: in ${spanText(left)} at the earliest.`;
}

function changingHands({ place }: Locking, misses: number): UserError {
  return new UserError(`the lock of ${place.location} went to other runs ${misses} times`, {
    hint: 'Wait for it with --lock-timeout 5m.',
  });
}

function infoOf({ heard: _, ...info }: RemoteLock | (LockInfo & { readonly heard?: string })): LockInfo {
  return info;
}
