import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { UserError } from '../../problems/user-error.ts';
import type { LockInfo, LockRequest } from '../store.ts';
import { type Files, shellWord, unlinkIfThere } from './files.ts';
import { createWhole, type HeldLock, readLock, replaceWhole } from './lock-file.ts';
import { isAlive, type ProcessFacts, processFacts } from './process-facts.ts';

/*
 * The lock is a file that appears whole under its name, or not at all. Who wants to end the lock X of someone else first
 * makes the file `.claim-X`, which only one can, and then looks whether X is still in force: so two that find the same dead
 * holder cannot both take its place. A claim is a lock file itself, and that of a dead process is claimed in the same way.
 */

export interface LockSettings {
  readonly files: Files;
  /** Of the lock file. */
  readonly path: string;
  /** How messages call what is locked. */
  readonly location: string;
  readonly host: string;
  readonly user: string;
  readonly pid: number;
  readonly version: string;
  now(): Date;
  isAlive?: ((pid: number) => boolean) | undefined;
}

const pollMilliseconds = { least: 25, most: 500 };

/** Takes the lock, waiting for its holder as the request allows. Rejects with the signal's reason when that fires. */
export async function takeLock(settings: LockSettings, request: LockRequest): Promise<LockInfo> {
  const own: HeldLock = {
    id: randomUUID(),
    operation: request.operation,
    who: `${settings.user}@${settings.host}`,
    host: settings.host,
    pid: settings.pid,
    since: settings.now().toISOString(),
    voxform_version: settings.version,
    process: processFacts(settings.pid),
  };
  const deadline = performance.now() + request.timeoutSeconds * 1000;
  let told = false;
  for (let wait = pollMilliseconds.least; ; wait = Math.min(wait * 1.5, pollMilliseconds.most)) {
    refuseWhenAborted(request);
    const holder = await readLock(settings.files, settings.path);
    if (holder === undefined) {
      if (await createWhole(settings.files, settings.path, own)) return infoOf(own);
      continue;
    }
    if (isGone(holder, own, settings) && (await takeOver(settings, holder, own))) {
      request.notice(
        `took over the lock of ${settings.location} from a process that died: ${described(holder)}`,
      );
      return infoOf(own);
    }
    const left = deadline - performance.now();
    if (left <= 0) throw heldBy(holder, settings);
    if (!told) request.notice(`waiting for the lock of ${settings.location}, held by ${described(holder)}`);
    told = true;
    await delay(Math.min(left, wait * (0.5 + Math.random())), undefined, { signal: request.signal }).catch(
      (error: unknown) => {
        refuseWhenAborted(request);
        throw error;
      },
    );
  }
}

function refuseWhenAborted({ signal }: LockRequest): void {
  if (signal?.aborted) throw new UserError('interrupted before the state was locked; nothing was written');
}

/** Who holds the lock; undefined where nobody does who may still run. */
export async function lockHolder(settings: LockSettings): Promise<LockInfo | undefined> {
  const holder = await readLock(settings.files, settings.path);
  const own = { process: processFacts(settings.pid) };
  return holder === undefined || isGone(holder, own, settings) ? undefined : infoOf(holder);
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
export async function breakLock(settings: LockSettings, id: string): Promise<LockInfo> {
  const holder = await readLock(settings.files, settings.path);
  if (holder === undefined) throw new UserError(`the state ${settings.location} is not locked`);
  if (holder.id !== id) {
    throw new UserError(`${id} is not the id of the lock of ${settings.location}; that is ${holder.id}`, {
      hint: `It is held by ${described(holder)}.`,
    });
  }
  const own = { ...holder, id: randomUUID(), pid: settings.pid, process: processFacts(settings.pid) };
  const claims = await claim(settings, { file: settings.path, dead: holder, own });
  if (claims === undefined) {
    throw new UserError(`the lock ${id} is just being ended by someone else`, {
      hint: `Try again. If it stays so, that process died elsewhere: rm ${shellWord(claimName(settings, id))}`,
    });
  }
  try {
    await unlinkIfThere(settings.files, settings.path);
  } finally {
    await dropClaims(settings.files, claims);
  }
  return infoOf(holder);
}

async function takeOver(settings: LockSettings, dead: HeldLock, own: HeldLock): Promise<boolean> {
  const claims = await claim(settings, { file: settings.path, dead, own });
  if (claims === undefined) return false;
  try {
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
  const name = claimName(settings, dead.id);
  let claims: string[] = [];
  if (!(await createWhole(settings.files, name, own))) {
    const claimant = await readLock(settings.files, name);
    if (claimant === undefined || !isGone(claimant, own, settings)) return undefined;
    const inherited = await claim(settings, { file: name, dead: claimant, own });
    if (inherited === undefined) return undefined;
    claims = inherited;
  }
  claims = [name, ...claims];
  if ((await readLock(settings.files, file))?.id === dead.id) return claims;
  await dropClaims(settings.files, claims);
  return undefined;
}

function claimName(settings: LockSettings, id: string): string {
  return `${settings.path}.claim-${id}`;
}

async function dropClaims(files: Files, claims: readonly string[]): Promise<void> {
  for (const name of claims) await unlinkIfThere(files, name);
}

/** True only where the holder certainly runs no more: a lock from elsewhere is never judged. */
function isGone(holder: HeldLock, own: Pick<HeldLock, 'process'>, settings: LockSettings): boolean {
  const theirs: ProcessFacts = holder.process ?? {};
  const ours: ProcessFacts = own.process ?? {};
  if (holder.host !== settings.host || differ(theirs.machine, ours.machine)) return false;
  if (differ(theirs.boot, ours.boot)) return true;
  if (differ(theirs.namespace, ours.namespace)) return false;
  if (!(settings.isAlive ?? isAlive)(holder.pid)) return true;
  return differ(theirs.started, processFacts(holder.pid).started);
}

function differ(a: string | undefined, b: string | undefined): boolean {
  return a !== undefined && b !== undefined && a !== b;
}

function heldBy(holder: HeldLock, settings: LockSettings): UserError {
  return new UserError(`the state ${settings.location} is locked by ${described(holder)}`, {
    hint: `Wait for it, with --lock-timeout if need be. If it is certainly gone: voxform state unlock ${holder.id}`,
  });
}

function described(holder: HeldLock): string {
  return `${holder.who} (process ${holder.pid}) since ${holder.since} for ${holder.operation}, lock ${holder.id}`;
}

function infoOf({ process: _, ...info }: HeldLock): LockInfo {
  return info;
}
