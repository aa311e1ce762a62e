import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type Files, unlinkIfThere } from '../../../files/files.ts';
import { processFacts } from '../../../files/process-facts.ts';
import { shellWord } from '../../../problems/shell-word.ts';
import { UserError } from '../../../problems/user-error.ts';
import {
  describedHolder,
  heldBy,
  type LockHolder,
  type LockInfo,
  type LockUser,
  lockFor,
  lockWithId,
  refuseWhenAborted,
} from '../../lock-info.ts';
import type { LockRequest } from '../../store.ts';
import { createWhole, type HeldLock, readLock, replaceWhole } from './lock-file.ts';
import { claimName, type Judging, judge, secondsOf, silenceOf, stampOf } from './lock-heartbeat.ts';

/*
 * The lock is a file that appears whole under its name, or not at all. Who wants to end the lock X of someone else first
 * makes the file `.claim-X`, which only one can, and then looks whether X is still in force: so two that find the same dead
 * holder cannot both take its place. A claim is a lock file itself, and that of a dead process is claimed in the same way.
 */

export interface LockSettings extends Judging, LockUser {
  /** Of the lock file. */
  readonly path: string;
  /** How messages call what is locked. */
  readonly location: string;
}

const pollMilliseconds = { least: 25, most: 500 };

/** Takes the lock, waiting for its holder as the request allows. Rejects with the signal's reason when that fires. */
export async function takeLock(settings: LockSettings, request: LockRequest): Promise<LockInfo> {
  const own = newLock(settings, request.operation);
  const deadline = performance.now() + request.timeoutSeconds * 1000;
  let told = false;
  for (let wait = pollMilliseconds.least; ; wait = Math.min(wait * 1.5, pollMilliseconds.most)) {
    refuseWhenAborted(request.signal);
    const holder = await readLock(settings.files, settings.path);
    if (holder === undefined) {
      if (await createWhole(settings.files, settings.path, own)) return infoOf(own);
      continue;
    }
    const { death, silence } = await judge(settings, { file: settings.path, holder, own }, (milliseconds) =>
      pause(milliseconds, request.signal),
    );
    const stamp = silence?.stamp;
    if (death !== undefined && (await takeOver(settings, { dead: holder, stamp, own }))) {
      request.notice(`acquired the lock of ${settings.location} from ${death}: ${describedHolder(holder)}`);
      return infoOf(own);
    }
    const left = deadline - performance.now();
    const seen = { ...holder, silentSeconds: secondsOf(silence) };
    if (left <= 0) throw heldBy(seen, settings.location);
    if (!told)
      request.notice(`waiting for the lock of ${settings.location}, held by ${describedHolder(seen)}`);
    told = true;
    await pause(Math.min(left, wait * (0.5 + Math.random())), request.signal);
  }
}

function newLock(settings: LockSettings, operation: string): HeldLock {
  return {
    ...lockFor(settings, { id: randomUUID(), operation }),
    process: processFacts(settings.pid),
  };
}

async function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  await delay(milliseconds, undefined, { signal }).catch((error: unknown) => {
    refuseWhenAborted(signal);
    throw error;
  });
}

/** Who holds the lock; undefined where nobody does who may still run. */
export async function lockHolder(settings: LockSettings): Promise<LockHolder | undefined> {
  const holder = await readLock(settings.files, settings.path);
  if (holder === undefined) return undefined;
  const own = newLock(settings, 'status');
  const { death, silence } = await judge(settings, { file: settings.path, holder, own });
  return death === undefined ? { ...infoOf(holder), silentSeconds: secondsOf(silence) } : undefined;
}

/** True while the lock in force is the one with this id. */
export async function isHeld(settings: LockSettings, id: string): Promise<boolean> {
  return (await readLock(settings.files, settings.path))?.id === id;
}

/** Ends our own lock; does nothing where it is no longer ours. */
export async function releaseLock(settings: LockSettings, id: string): Promise<void> {
  if (await isHeld(settings, id)) await unlinkIfThere(settings.files, settings.path);
}

/** Ends the lock with this id, whoever holds it. */
export async function breakLock(settings: LockSettings, id: string): Promise<LockHolder> {
  const found = await readLock(settings.files, settings.path);
  const own = newLock(settings, 'state unlock');
  const silentSeconds = found && secondsOf(await silenceOf(settings.files, settings.path, own));
  const holder = lockWithId(id, found, { ...settings, silentSeconds });
  const claims = await claim(settings, { file: settings.path, dead: holder, own });
  if (claims === undefined) {
    throw new UserError(`another process is removing the lock ${holder.id}`, {
      hint: `Try again. If this persists, that process is dead: rm ${shellWord(claimName(settings.path, holder.id))}`,
    });
  }
  try {
    await unlinkIfThere(settings.files, settings.path);
  } finally {
    await dropClaims(settings.files, claims);
  }
  return { ...infoOf(holder), silentSeconds };
}

interface Takeover {
  readonly dead: HeldLock;
  /** When the lock file was last written, as the holder was judged by; undefined where its process is dead. */
  readonly stamp: number | undefined;
  readonly own: HeldLock;
}

async function takeOver(settings: LockSettings, { dead, stamp, own }: Takeover): Promise<boolean> {
  const claims = await claim(settings, { file: settings.path, dead, own });
  if (claims === undefined) return false;
  // A process that was stopped on the way here for so long that its claim was ended comes too late.
  const last = claims.at(-1) ?? settings.path;
  if ((await readLock(settings.files, last))?.id !== own.id) return false;
  try {
    // A holder that woke up meanwhile keeps its lock.
    if (stamp !== undefined && (await stampOf(settings.files, settings.path)) !== stamp) return false;
    await replaceWhole(settings.files, settings.path, own);
  } finally {
    await dropClaims(settings.files, claims);
  }
  return true;
}

/** The sole right to end what the file says, as the claims to drop afterwards; undefined where someone else has it. */
async function claim(
  settings: LockSettings,
  { file, dead, own }: { file: string; dead: HeldLock; own: HeldLock },
): Promise<string[] | undefined> {
  const name = claimName(settings.path, dead.id);
  let claims: string[] = [];
  if (!(await createWhole(settings.files, name, own))) {
    const claimant = await readLock(settings.files, name);
    if (claimant === undefined) return undefined;
    if ((await judge(settings, { file: name, holder: claimant, own }, pause)).death === undefined)
      return undefined;
    const inherited = await claim(settings, { file: name, dead: claimant, own });
    if (inherited === undefined) return undefined;
    claims = inherited;
  }
  claims = [name, ...claims];
  if ((await readLock(settings.files, file))?.id === dead.id) return claims;
  await dropClaims(settings.files, claims);
  return undefined;
}

async function dropClaims(files: Files, claims: readonly string[]): Promise<void> {
  for (const name of claims) await unlinkIfThere(files, name);
}

function infoOf({ process: _, ...info }: HeldLock): LockInfo {
  return info;
}
