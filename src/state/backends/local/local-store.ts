import { appendFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import {
  type FileHandle,
  type Files,
  makeFolders,
  nodeFiles,
  syncFolderOf,
  unlinkIfExists,
  writeAll,
} from '../../../files/files.ts';
import { replaceFile } from '../../../files/replace-file.ts';
import { UserError } from '../../../problems/user-error.ts';
import { fold } from '../../fold.ts';
import { parseJournal, type StoredEntry } from '../../journal-lines.ts';
import { MAX_HISTORY, newestLines } from '../../run-history.ts';
import { missingFrom } from '../../state-records.ts';
import type { StoreUser } from '../backend.ts';
import { changed } from '../object-store/change.ts';
import { concurrentChangeError } from '../object-store/lease.ts';
import {
  type Change,
  type LocalParts,
  type LockTiming,
  NO_CONTENT,
  type ObjectStore,
  type StoredContent,
  WriteConflict,
} from '../object-store/object-store.ts';
import { decryptContent, parseContent } from '../object-store/stored-content.ts';
import { convertBackups, newerThan, quarantine, readBackups } from './backups.ts';
import {
  draftOf,
  journalPathOf,
  keepCurrent,
  pruneBackups,
  readContent,
  targetOf,
  writeDocument,
} from './document-file.ts';
import { onFiles, readIfExists } from './file-problem.ts';
import { LockFile, localTiming } from './lock-file.ts';

export interface LocalStoreOptions extends StoreUser {
  /** Path of the document, or of a link to it. The journal, the lock and the backups are in the folder of the document. */
  readonly path: string;
  /** Location of the state for messages; default: the path. */
  readonly location?: string | undefined;
  /** Returns true if a process of this host is running; default: asks the operating system. */
  isAlive?: ((pid: number) => boolean) | undefined;
  readonly timing?: LockTiming | undefined;
  /** The file system; default: that of Node. */
  readonly files?: Files | undefined;
}

/** A state in local files. */
export class LocalStore implements ObjectStore {
  readonly location: string;
  readonly setting = 'state.path';
  readonly timing: LockTiming;
  readonly local: LocalParts;
  readonly #files: Files;
  readonly #options: LocalStoreOptions;
  #path: string;
  /** Id of the lock that this store holds. */
  #own: string | undefined;
  #journal: { readonly handle: FileHandle; length: number } | undefined;
  /** The time of a lock renewal in the current turn of the event loop, if any. */
  #renewedAt: number | undefined;

  constructor(options: LocalStoreOptions) {
    const { path, location = path, timing = localTiming, files = nodeFiles } = options;
    this.location = location;
    this.timing = timing;
    this.#files = files;
    this.#options = options;
    this.#path = path;
    this.local = {
      backups: () => this.#withPath('read', (at) => readBackups(files, at, options.seal)),
      newer: (document, hasJournal) =>
        this.#withPath('read', (at) => newerThan(document, { ...options, files, path: at, hasJournal })),
      release: (id) => this.#withPath('lock', (_, lock) => this.#release(id, lock)),
      convertBackups: (seal) => this.#withPath('write', (at) => convertBackups(files, at, seal)),
      quarantine: (id) => this.#withPath('write', (at) => quarantine(files, at, id)),
    };
  }

  read(): Promise<StoredContent> {
    return this.#withPath('read', async (path, lock) => {
      const content = await readContent(this.#files, path);
      return { ...(await lockIn(lock)), ...content };
    });
  }

  readLock(): Promise<StoredContent> {
    return this.#withPath('read', (_, lock) => lockIn(lock));
  }

  write(change: Change, base: StoredContent): Promise<StoredContent> {
    const { lock, history, converted } = change;
    if (lock && lock.id !== base.lock?.id) return this.#take(change, base);
    return this.#withPath(change.state || change.journal ? 'write' : 'lock', async (path, lockFile) => {
      const id = base.lock?.id;
      if (id !== this.#own) {
        if (lock !== null || id === undefined || !(await lockFile.break(id))) throw new WriteConflict();
      } else {
        if (!change.journal || !this.#isJustRenewed) await this.#renew(lockFile);
        if (change.state) await this.#replace(path, change.state, { change, base });
        if (change.journal) await this.#append(path, lockFile, change.journal);
        if (change.journal === null || lock === null) await this.#closeJournal();
      }
      if (converted !== undefined)
        await replaceFile(historyPathOf(path), converted.history.map((line) => `${line}\n`).join(''));
      if (history !== undefined) await this.#addToHistory(path, history);
      const { journal, ...rest } = change;
      return journal ? { ...changed(base, rest, ''), isBehind: true } : changed(base, change, '');
    });
  }

  history(): Promise<readonly string[]> {
    return this.#withPath('read', async (path) =>
      ((await readIfExists(this.#files, historyPathOf(path)))?.toString() ?? '').split('\n'),
    );
  }

  /** Takes the lock and reads the content again, because another run may have written it in the meantime. */
  async #take({ lock, history }: Change, base: StoredContent): Promise<StoredContent> {
    const files = this.#files;
    return this.#withPath('lock', async (path, lockFile) => {
      if (!lock) throw new WriteConflict();
      await makeFolders(dirname(path), { files, mode: 0o700 });
      const { heard: _, ...info } = lock;
      if (!(await lockFile.take(info, base.lock?.id))) throw new WriteConflict();
      await this.#closeJournal();
      this.#own = lock.id;
      this.#renewedAt = undefined;
      if (history !== undefined) await this.#addToHistory(path, history);
      // Files that cannot be removed are harmless.
      await unlinkIfExists(files, draftOf(path)).catch(() => undefined);
      await lockFile.removeLeftovers(lock.id).catch(() => undefined);
      const content = {
        ...NO_CONTENT,
        ...(await onFiles('read', this.location, () => readContent(files, path))),
      };
      const journal = await onFiles('write', this.location, () => this.#repairJournal(path, content));
      return { ...content, journal, lock, secondsSinceHeartbeat: 0 };
    });
  }

  async #release(id: string, lockFile: LockFile): Promise<void> {
    if (id === this.#own) {
      await this.#closeJournal().finally(() => lockFile.release(id));
      this.#own = undefined;
    }
  }

  /** Removes an incomplete last line of the journal, and entries that the document already contains. @returns the remaining journal. */
  async #repairJournal(path: string, content: StoredContent): Promise<Uint8Array> {
    const files = this.#files;
    const bytes = Buffer.from(content.journal);
    const journalPath = journalPathOf(path);
    if (bytes.length === 0) return bytes;
    let entries: readonly StoredEntry[];
    let goodLength: number;
    let stored: ReturnType<typeof parseContent>;
    try {
      ({ entries, goodLength } = parseJournal(bytes, journalPath));
      stored = parseContent(content, this.location);
    } catch (error) {
      // The first read of the lease reports the error.
      if (error instanceof UserError) return bytes;
      throw error;
    }
    if (stored.journal.length > 0) {
      if (goodLength === bytes.length) return bytes;
      await using handle = await files.open(journalPath, 'r+');
      await handle.truncate(goodLength);
      await handle.sync();
      return bytes.subarray(0, goodLength);
    }
    const missing = await this.#missingFrom({ document: stored.document, journal: entries });
    if (missing.length === 0) await unlinkIfExists(files, journalPath);
    else {
      const quarantined = `${journalPath}.aside-${this.#own}`;
      await files.rename(journalPath, quarantined);
      await syncFolderOf(files, path);
      this.#options.warn?.(
        `the journal of ${this.location} belonged to another state, and was moved to ${quarantined}. It contains records that are missing from this state: ${missing.join(', ')}`,
      );
    }
    return new Uint8Array();
  }

  /** Returns the records in the entries that are missing from the document: addresses, with their ids if known. */
  async #missingFrom(content: ReturnType<typeof parseContent>): Promise<string[]> {
    if (content.document === undefined) return [];
    const { document, journal } = await decryptContent(content, this.location, this.#options.seal);
    if (document === undefined) return [];
    const none = { ...document, resources: {}, pending: {}, orphans: [] };
    return missingFrom(document, fold(none, journal).toDocument(document));
  }

  async #replace(
    path: string,
    state: Uint8Array,
    { change: { document, replaces }, base }: { readonly change: Change; readonly base: StoredContent },
  ): Promise<void> {
    const [files, { failPoint = () => undefined, marks }] = [this.#files, this.#options];
    await this.#closeJournal();
    failPoint('before-fold');
    const current = await readIfExists(files, path);
    if (Buffer.compare(current ?? Buffer.alloc(0), base.state ?? Buffer.alloc(0)) !== 0)
      throw concurrentChangeError(this.location);
    if (current !== undefined && replaces !== undefined)
      await keepCurrent(files, path, { bytes: current, serial: replaces });
    if (document === undefined) {
      failPoint('before-mark');
      await replaceFile(path, [Buffer.from(state)], { files, draft: draftOf(path) });
      failPoint('after-mark');
    } else {
      const { serial } = document;
      await writeDocument(files, { path, bytes: state, serial, replaces: replaces !== undefined, failPoint });
      failPoint('after-rename');
      await marks?.raise(document, path);
      failPoint('before-truncate');
      await unlinkIfExists(files, journalPathOf(path));
      // Old backups that cannot be removed are harmless.
      await pruneBackups(files, path).catch(() => undefined);
    }
  }

  /** Appends to the journal. If that fails, truncates the journal to its earlier length if possible. */
  async #append(path: string, lockFile: LockFile, bytes: Uint8Array): Promise<void> {
    const { failPoint } = this.#options;
    failPoint?.('before-append');
    this.#journal ??= await this.#openJournal(path);
    const { handle, length } = this.#journal;
    try {
      await writeAll(handle, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
      await handle.datasync();
    } catch (error) {
      await handle
        .truncate(length)
        .then(() => handle.datasync())
        .catch(() => undefined);
      throw error;
    }
    this.#journal.length += bytes.length;
    // If another run took the lock in the meantime, that run may have merged and removed the file before these lines were written.
    await this.#renew(lockFile);
    failPoint?.('after-append');
  }

  async #openJournal(path: string): Promise<{ handle: FileHandle; length: number }> {
    const handle = await this.#files.open(journalPathOf(path), 'a', 0o600);
    try {
      await handle.chmod(0o600);
      const { size: length } = await handle.stat();
      await syncFolderOf(this.#files, path);
      return { handle, length };
    } catch (error) {
      await handle.close().catch(() => undefined);
      throw error;
    }
  }

  async #closeJournal(): Promise<void> {
    const journal = this.#journal;
    this.#journal = undefined;
    await journal?.handle.close();
  }

  /** The renewal after one append serves as the check before the next append, unless the process was suspended in between. */
  get #isJustRenewed(): boolean {
    return this.#renewedAt !== undefined && performance.now() - this.#renewedAt < 1_000;
  }

  /** @throws WriteConflict if the lock is no longer ours. */
  async #renew(lockFile: LockFile): Promise<void> {
    this.#renewedAt = undefined;
    if (this.#own === undefined || !(await lockFile.renew(this.#own))) throw new WriteConflict();
    this.#renewedAt = performance.now();
    setImmediate(() => {
      this.#renewedAt = undefined;
    });
  }

  /** Adds a line to the history. Does not sync and never fails, because the state is complete without its history. */
  async #addToHistory(path: string, line: string): Promise<void> {
    const file = historyPathOf(path);
    try {
      await appendFile(file, `${line}\n`, { mode: 0o600 });
      if ((await stat(file)).size <= MAX_HISTORY) return;
      const text = (await this.#files.readFile(file)).toString();
      await replaceFile(file, newestLines(text), { isDurable: false });
    } catch {
      // The history then lacks this line.
    }
  }

  #withPath<T>(verb: 'read' | 'write' | 'lock', work: (path: string, lock: LockFile) => Promise<T>): Promise<T> {
    const [files, options] = [this.#files, this.#options];
    return onFiles(verb, this.location, async () => {
      // While this store holds the lock, a change of the link is ignored.
      if (this.#own === undefined) this.#path = await targetOf(files, options.path);
      const path = this.#path;
      return work(path, new LockFile({ ...options, files, path: `${path}.lock`, user: options }));
    });
  }
}

async function lockIn(file: LockFile): Promise<StoredContent> {
  const found = await file.read();
  if (found === undefined) return NO_CONTENT;
  const { info, ...status } = found;
  return { ...NO_CONTENT, lock: { ...info, heard: info.since }, ...status };
}

function historyPathOf(path: string): string {
  return `${path.replace(/(\.state)?\.json$/, '')}.history.jsonl`;
}
