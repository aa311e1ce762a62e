import { randomUUID } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { type Files, unlinkIfThere, whereMissing } from '../../../files/files.ts';
import { isAlive, processFacts } from '../../../files/process-facts.ts';
import { writeBeside } from '../../../files/replace-file.ts';
import { errorCode } from '../../../problems/error-code.ts';
import { LockAge } from '../../lock-age.ts';
import { spanText } from '../../lock-info.ts';
import { readIfThere } from './file-problem.ts';
import { type HeldLock, lockBytes, parseLock, readLock, temporaryName } from './lock-file.ts';

/*
 * The holder of a lock writes to its file every few seconds, so that the file system stamps it. Whoever judges the lock
 * compares that stamp with one of a file written just now: both come from the file system's clock, on whatever machine it is.
 */

export interface LockTiming {
  /** Milliseconds between signs of life. */
  readonly beat: number;
  /** Milliseconds without one after which a holder counts as dead. */
  readonly silence: number;
}

export const lockTiming: LockTiming = { beat: 5_000, silence: 60_000 };

interface Beating {
  /** Of the lock. */
  readonly id: string;
  readonly timing?: LockTiming | undefined;
  now(): Date;
}

/** Renews a lock regularly until it ends. This does not keep the process alive. */
export class Heartbeat {
  readonly #files: Files;
  readonly #path: string;
  readonly #id: string;
  readonly #age: LockAge;
  readonly #timer: NodeJS.Timeout;
  #beating: Promise<boolean> | undefined;

  constructor(files: Files, path: string, { id, now, timing = lockTiming }: Beating) {
    this.#files = files;
    this.#path = path;
    this.#id = id;
    this.#age = new LockAge(now, timing.silence);
    // A failure shows in the age of the lock, and the next append finds out whether the lock is still ours.
    this.#timer = setInterval(() => void this.renew().catch(() => undefined), timing.beat);
    this.#timer.unref();
  }

  get isRecent(): boolean {
    return this.#age.isRecent;
  }

  /**
   * False where the lock is no longer ours, or another run is about to take it over. That run makes its claim first and then looks for a
   * sign of life, so that one of the two sees the other.
   */
  renew(): Promise<boolean> {
    this.#beating ??= this.#renew().finally(() => {
      this.#beating = undefined;
    });
    return this.#beating;
  }

  async end(): Promise<void> {
    clearInterval(this.#timer);
    await this.#beating?.catch(() => undefined);
  }

  async #renew(): Promise<boolean> {
    const began = this.#age.moment();
    if (!(await giveSign(this.#files, this.#path, this.#id))) return false;
    const claim = claimName(this.#path, this.#id);
    if ((await this.#files.stat(claim).catch(whereMissing)) !== undefined) return false;
    this.#age.renewedAt(began);
    return true;
  }
}

/**
 * Writes the last byte of the lock once more: the content is whole at every moment. A lock is replaced by another file, never
 * overwritten, so this cannot reach the lock of the next holder.
 * @returns false where the lock is another one, or there is none.
 */
async function giveSign(files: Files, path: string, id: string): Promise<boolean> {
  try {
    await using handle = await files.open(path, 'r+');
    const bytes = await handle.readFile();
    if (parseLock(bytes)?.id !== id) return false;
    await handle.write(bytes, bytes.length - 1, 1, bytes.length - 1);
    return true;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false;
    throw error;
  }
}

/** The file that gives its writer the sole right to end the lock with this id. */
export function claimName(path: string, id: string): string {
  return `${path}.claim-${id}`;
}

export interface Judging {
  readonly files: Files;
  readonly host: string;
  isAlive?: ((pid: number) => boolean) | undefined;
  readonly lockTiming?: LockTiming | undefined;
}

interface Case {
  /** The lock, or a claim. */
  readonly file: string;
  readonly holder: HeldLock;
  readonly own: HeldLock;
}

interface Silence {
  /** When the file was last written, in milliseconds of the file system's clock. */
  readonly stamp: number;
  readonly milliseconds: number;
}

/**
 * Whether the holder is dead, in words for a notice, and how long it has been silent where that can be said.
 * @param pause where given, one that is silent gets the time for another sign of life: after a machine slept, or its clock
 * was set, every lock looks old for a moment.
 */
export async function judge(
  judging: Judging,
  { file, holder, own }: Case,
  pause?: (milliseconds: number) => Promise<void>,
): Promise<{ readonly death: string | undefined; readonly silence: Silence | undefined }> {
  const { files, lockTiming: timing = lockTiming } = judging;
  if (isDead(judging, holder, own)) return { death: 'a dead process', silence: undefined };
  const silence = await silenceOf(files, file, own);
  if (silence === undefined || silence.milliseconds < timing.silence) return { death: undefined, silence };
  await pause?.(timing.beat * 1.5);
  const later = pause === undefined ? silence : await silenceOf(files, file, own);
  const death =
    later?.stamp === silence.stamp ? `a run silent for ${spanText(secondsOf(later) ?? 0)}` : undefined;
  return { death, silence: later };
}

/** Whether the writer of a file of the lock is dead; one that is not written to its end tells by its age alone. */
async function isAbandoned(
  judging: Judging,
  { file, writer, own }: Omit<Case, 'holder'> & { readonly writer: HeldLock | undefined },
): Promise<boolean> {
  if (writer !== undefined && isDead(judging, writer, own)) return true;
  const silence = await silenceOf(judging.files, file, own);
  return silence !== undefined && silence.milliseconds >= (judging.lockTiming ?? lockTiming).silence;
}

/** True only where it is certain: process numbers mean the same in one namespace of one running system. */
function isDead({ host, isAlive: lives = isAlive }: Judging, holder: HeldLock, own: HeldLock): boolean {
  const { boot, namespace, started } = holder.process ?? {};
  const isHere = holder.host === host && boot !== undefined && namespace !== undefined;
  if (!isHere || boot !== own.process?.boot || namespace !== own.process.namespace) return false;
  if (!lives(holder.pid)) return true;
  const now = processFacts(holder.pid).started;
  return started !== undefined && now !== undefined && now !== started;
}

export function secondsOf(silence: Silence | undefined): number | undefined {
  return silence === undefined ? undefined : Math.round(silence.milliseconds / 1000);
}

/** How long nobody has written to the file; undefined where there is no such file, or the folder cannot be written. */
export async function silenceOf(files: Files, path: string, own: HeldLock): Promise<Silence | undefined> {
  try {
    const now = await timeAt(files, path, own);
    const stamp = await stampOf(files, path);
    return { stamp, milliseconds: Math.max(0, now - stamp) };
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return undefined;
  }
}

/** The time of the file system that has the file. */
async function timeAt(files: Files, path: string, own: HeldLock): Promise<number> {
  const draft = temporaryName(path, randomUUID());
  const probe = await writeBeside(path, [lockBytes(own)], { files, draft, isDurable: false });
  try {
    return await stampOf(files, probe);
  } finally {
    await unlinkIfThere(files, probe);
  }
}

/** Opens the file first, which makes the client of a network file system ask its server. */
export async function stampOf(files: Files, path: string): Promise<number> {
  await using handle = await files.open(path, 'r');
  return (await handle.stat()).mtimeMs;
}

const ID = /^(?:tmp|claim)-[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

/**
 * Removes what killed processes left beside the state: its draft, which only the holder of the lock writes, and files of the
 * lock whose writers are dead. To be called by the holder of the lock.
 */
export async function removeLeftovers(
  judging: Judging,
  { path, lockPath, id }: { readonly path: string; readonly lockPath: string; readonly id: string },
): Promise<void> {
  const { files } = judging;
  const own = await readLock(files, lockPath);
  if (own?.id !== id) return;
  const prefix = `${basename(lockPath)}.`;
  for (const name of await files.readdir(dirname(path))) {
    if (name === `${basename(path)}.tmp`) await unlinkIfThere(files, `${path}.tmp`);
    const kind = name.startsWith(prefix) ? name.slice(prefix.length) : '';
    // A claim on our own lock is in force until whoever made it is judged by the next one to claim it.
    if (!ID.test(kind) || kind === `claim-${id}`) continue;
    const file = join(dirname(path), name);
    const bytes = await readIfThere(files, file);
    if (bytes === undefined) continue;
    if (await isAbandoned(judging, { file, writer: parseLock(bytes), own })) await unlinkIfThere(files, file);
  }
}
