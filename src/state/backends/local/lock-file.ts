import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { type Files, ignoreMissing, isLinkUnsupported, unlinkIfExists } from '../../../files/files.ts';
import { isAlive, processFacts } from '../../../files/process-facts.ts';
import { replaceFile, writeDraftFor } from '../../../files/replace-file.ts';
import { attempt } from '../../../problems/attempt.ts';
import { errorCode } from '../../../problems/error-code.ts';
import { shellWord } from '../../../problems/shell-word.ts';
import { UserError } from '../../../problems/user-error.ts';
import { lazy } from '../../../values/lazy.ts';
import { type LockInfo, type LockUser, lockFor, lockInfo, refuseWhenAborted } from '../../lock-info.ts';
import type { LockTiming } from '../object-store/object-store.ts';
import { readIfExists } from './file-problem.ts';

/*
 * The lock file is created atomically. To remove the lock X of another run, a run first creates the file `.claim-X`, which only one run can
 * do, and then checks that X still exists. Thus, two runs that find the same dead holder cannot both take its lock. A claim has the same
 * format as a lock, and the claim of a dead process is claimed in the same way.
 *
 * The holder writes to the file every few seconds, which updates the modification time. Other runs compare this time with the modification
 * time of a new file. Both times come from the clock of the file system, which may be on another machine.
 */

const fileContent = lazy(() =>
  lockInfo().extend({
    process: z
      .object({
        boot: z.string().optional(),
        namespace: z.string().optional(),
        started: z.string().optional(),
      })
      .optional(),
  }),
);

type FileLock = z.infer<ReturnType<typeof fileContent>>;

/** The maximum number of reads of an incomplete lock file, which another process may still be writing. */
const MAX_READS = 3;
const READ_INTERVAL_MS = 25;

export const localTiming: LockTiming = {
  heartbeat: 5_000,
  takeoverAfter: () => 60_000,
  gather: 0,
  fastBatch: 32,
  poll: 500,
};

interface LockFileOptions {
  readonly files: Files;
  readonly path: string;
  readonly user: LockUser;
  /** Returns true if a process of this host is running; default: asks the operating system. */
  readonly isAlive?: ((pid: number) => boolean) | undefined;
  readonly timing?: Pick<LockTiming, 'heartbeat' | 'takeoverAfter'> | undefined;
  /** Aborts the wait. */
  readonly stop?: AbortSignal | undefined;
}

interface HeldLock {
  readonly info: LockInfo;
  /** Undefined if the holder is dead, or if the folder is not writable. */
  readonly secondsSinceHeartbeat: number | undefined;
  readonly isHolderDead: boolean;
}

interface LastWrite {
  /** The time of the last write in milliseconds, according to the clock of the file system. */
  readonly time: number;
  readonly ageMilliseconds: number;
}

export class LockFile {
  readonly #files: Files;
  readonly #path: string;
  readonly #options: LockFileOptions;
  readonly #timing: Pick<LockTiming, 'heartbeat' | 'takeoverAfter'>;

  constructor(options: LockFileOptions) {
    this.#files = options.files;
    this.#path = options.path;
    this.#options = options;
    this.#timing = options.timing ?? localTiming;
  }

  async read(): Promise<HeldLock | undefined> {
    const holder = await this.#read(this.#path);
    if (holder === undefined) return undefined;
    const { process: _, ...info } = holder;
    if (this.#isDead(holder)) return { info, secondsSinceHeartbeat: undefined, isHolderDead: true };
    const lastWrite = await this.#lastWrite(this.#path);
    return {
      info,
      secondsSinceHeartbeat: lastWrite && Math.round(lastWrite.ageMilliseconds / 1000),
      isHolderDead: false,
    };
  }

  /** Takes the lock. @param dead id of the lock to take over, if any. @returns false if another run was first, or the holder is alive. */
  async take(info: LockInfo, dead?: string): Promise<boolean> {
    const own = this.#withProcess(info);
    if (dead === undefined) return this.#create(this.#path, own);
    const holder = await this.#read(this.#path);
    if (holder?.id !== dead) return false;
    const assessed = await this.#judge(this.#path, holder, true);
    if (!assessed.isAbandoned) return false;
    const claims = await this.#claim({ file: this.#path, dead: holder, own });
    if (claims === undefined) return false;
    // If this process was suspended and its claim was removed in the meantime, this process must not continue.
    const last = claims.at(-1) ?? this.#path;
    if ((await this.#read(last))?.id !== own.id) return false;
    try {
      // A holder that resumed in the meantime keeps its lock.
      const { time } = assessed;
      if (time !== undefined && (await this.#timeOf(this.#path)) !== time) return false;
      const draft = temporaryName(this.#path, own.id);
      await replaceFile(this.#path, [bytesOf(own)], { files: this.#files, draft });
    } finally {
      await this.#drop(claims);
    }
    return true;
  }

  /**
   * Updates the modification time by rewriting the last byte, so that readers never see partial content. The next holder creates another
   * file, so this write cannot change the lock of that holder.
   * @returns false if the lock is not ours, or another run is about to take it over. That run creates its claim before it reads the time of
   * the file, so that at least one of the two runs notices the other.
   */
  async renew(id: string): Promise<boolean> {
    try {
      await using handle = await this.#files.open(this.#path, 'r+');
      const bytes = await handle.readFile();
      if (parseLock(bytes)?.id !== id) return false;
      await handle.write(bytes, bytes.length - 1, 1, bytes.length - 1);
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return false;
      throw error;
    }
    return (await this.#files.stat(claimName(this.#path, id)).catch(ignoreMissing)) === undefined;
  }

  /** Releases our lock; does nothing if it is no longer ours. */
  async release(id: string): Promise<void> {
    if ((await this.#read(this.#path))?.id === id) await unlinkIfExists(this.#files, this.#path);
  }

  /**
   * Removes the lock with this id, regardless of its holder.
   * @returns false if the lock no longer exists.
   */
  async break(id: string): Promise<boolean> {
    const holder = await this.#read(this.#path);
    if (holder?.id !== id) return false;
    const claims = await this.#claim({ file: this.#path, dead: holder, own: this.#own() });
    if (claims === undefined) {
      throw new UserError(`another process is removing the lock ${id}`, {
        hint: `Try again. If the error persists, that process is dead, and you can remove its claim: rm ${shellWord(claimName(this.#path, id))}`,
      });
    }
    await unlinkIfExists(this.#files, this.#path).finally(() => this.#drop(claims));
    return true;
  }

  /** Removes drafts and claims whose writers are dead. Only the holder of the lock may call this method. */
  async removeLeftovers(id: string): Promise<void> {
    const [folder, prefix] = [dirname(this.#path), `${basename(this.#path)}.`];
    for (const name of await this.#files.readdir(folder)) {
      const suffix = name.startsWith(prefix) ? name.slice(prefix.length) : '';
      // A claim on our lock stays valid until another run that wants the lock finds the claimant dead.
      if (!TEMPORARY.test(suffix) || suffix === `claim-${id}`) continue;
      const file = join(folder, name);
      const bytes = await readIfExists(this.#files, file);
      if (bytes !== undefined && (await this.#judge(file, parseLock(bytes), false)).isAbandoned)
        await unlinkIfExists(this.#files, file);
    }
  }

  /** Acquires the right to remove a lock or claim. Returns the claims to remove afterwards, or undefined if another run has this right. */
  async #claim(claiming: {
    readonly file: string;
    readonly dead: FileLock;
    readonly own: FileLock;
  }): Promise<string[] | undefined> {
    const { file, dead, own } = claiming;
    const name = claimName(this.#path, dead.id);
    let claims: string[] = [];
    if (!(await this.#create(name, own))) {
      const claimant = await this.#read(name);
      if (claimant === undefined || !(await this.#judge(name, claimant, true)).isAbandoned) return undefined;
      const inherited = await this.#claim({ ...claiming, file: name, dead: claimant });
      if (inherited === undefined) return undefined;
      claims = inherited;
    }
    claims = [name, ...claims];
    if ((await this.#read(file))?.id === dead.id) return claims;
    await this.#drop(claims);
    return undefined;
  }

  async #drop(claims: readonly string[]): Promise<void> {
    for (const name of claims) await unlinkIfExists(this.#files, name);
  }

  /**
   * Decides whether the writer of a lock or claim is dead or has sent no heartbeat for too long.
   * @param writer the content of the file; undefined if the file is incomplete.
   * @param waits true to wait for another heartbeat, because every lock looks expired after a suspend or a change of the clock.
   */
  async #judge(
    file: string,
    writer: FileLock | undefined,
    waits: boolean,
  ): Promise<{ readonly isAbandoned: boolean; readonly time?: number | undefined }> {
    if (writer !== undefined && this.#isDead(writer)) return { isAbandoned: true };
    const { heartbeat, takeoverAfter } = this.#timing;
    const lastWrite = await this.#lastWrite(file);
    if (lastWrite === undefined || lastWrite.ageMilliseconds < takeoverAfter(writer ?? { operation: '' }))
      return { isAbandoned: false };
    const { time } = lastWrite;
    if (!waits) return { isAbandoned: true, time };
    const { stop: signal } = this.#options;
    await delay(heartbeat * 1.5, undefined, { signal }).catch(() => refuseWhenAborted(signal));
    return { isAbandoned: (await this.#lastWrite(file))?.time === time, time };
  }

  /** True only if the process is certainly dead. Process ids are comparable only within one PID namespace and one boot. */
  #isDead({ host, pid, process: facts = {} }: FileLock): boolean {
    const { user, isAlive: isRunning = isAlive } = this.#options;
    const { boot, namespace, started } = facts;
    const own = processFacts(user.pid);
    const isHere = host === user.host && boot !== undefined && namespace !== undefined;
    if (!isHere || boot !== own.boot || namespace !== own.namespace) return false;
    if (!isRunning(pid)) return true;
    const current = processFacts(pid).started;
    return started !== undefined && current !== undefined && current !== started;
  }

  /** Returns the last write to the file; undefined if the file does not exist, or its folder is not writable. */
  async #lastWrite(file: string): Promise<LastWrite | undefined> {
    try {
      const now = await this.#currentTime(file);
      const time = await this.#timeOf(file);
      return { time, ageMilliseconds: Math.max(0, now - time) };
    } catch (error) {
      if (errorCode(error) === undefined) throw error;
      return undefined;
    }
  }

  /** Returns the current time of the file system: the modification time of a new file in the folder of `file`. */
  async #currentTime(file: string): Promise<number> {
    const files = this.#files;
    const draft = temporaryName(file, randomUUID());
    const probe = await writeDraftFor(file, [bytesOf(this.#own())], { files, draft, isDurable: false });
    return this.#timeOf(probe).finally(() => unlinkIfExists(files, probe));
  }

  /** Returns the modification time. Opens the file first, so that a network file system refreshes its cached attributes. */
  async #timeOf(file: string): Promise<number> {
    await using handle = await this.#files.open(file, 'r');
    return (await handle.stat()).mtimeMs;
  }

  /** Creates the file with its complete content. @returns false if it exists. */
  async #create(file: string, lock: FileLock): Promise<boolean> {
    const files = this.#files;
    const draft = temporaryName(file, lock.id);
    try {
      await writeDraftFor(file, [bytesOf(lock)], { files, draft });
      await linkOrCopy(files, draft, file);
      return true;
    } catch (error) {
      if (errorCode(error) === 'EEXIST') return false;
      throw error;
    } finally {
      await unlinkIfExists(files, draft).catch(() => undefined);
    }
  }

  async #read(file: string): Promise<FileLock | undefined> {
    for (let read = 1; ; read++) {
      const bytes = await readIfExists(this.#files, file);
      const lock = bytes && parseLock(bytes);
      if (bytes === undefined || lock !== undefined) return lock;
      if (read === MAX_READS) {
        throw new UserError(`the lock file ${file} is damaged: its holder is unknown`, {
          hint: `Make sure that no voxform process uses this state, then: rm ${shellWord(file)}`,
        });
      }
      await delay(READ_INTERVAL_MS);
    }
  }

  #own(): FileLock {
    return this.#withProcess(lockFor(this.#options.user, { id: randomUUID(), operation: '' }));
  }

  #withProcess(info: LockInfo): FileLock {
    return { ...info, process: processFacts(info.pid) } as FileLock;
  }
}

const TEMPORARY = /^(?:tmp|claim)-[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

function temporaryName(path: string, id: string): string {
  return `${path}.tmp-${id}`;
}

/** Returns the path of the claim on the lock with this id. The creator of the claim has the exclusive right to remove the lock. */
function claimName(path: string, id: string): string {
  return `${path}.claim-${id}`;
}

function bytesOf(lock: FileLock): Buffer {
  return Buffer.from(`${JSON.stringify(lock, null, 2)}\n`);
}

function parseLock(bytes: Buffer): FileLock | undefined {
  return attempt(() => fileContent().parse(JSON.parse(bytes.toString('utf8'))));
}

/** Fails if the target exists. On file systems without hard links, the file is copied, and readers may briefly see partial content. */
async function linkOrCopy(files: Files, from: string, to: string): Promise<void> {
  try {
    await files.link(from, to);
  } catch (error) {
    if (!isLinkUnsupported(error)) throw error;
    await files.copyFile(from, to, constants.COPYFILE_EXCL);
  }
}
