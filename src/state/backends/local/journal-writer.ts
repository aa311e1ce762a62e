import { type FileHandle, type Files, syncFolderOf, writeFully } from '../../../files/files.ts';
import { type JournalEntry, journalLine } from '../../journal-lines.ts';
import type { FailPoint } from '../backend.ts';
import { fileProblem } from './file-problem.ts';

/**
 * Appends lines, those that are called for at the same time with one write and one sync. After a failure the file ends where
 * it ended before, as far as the disk lets it, and every later append fails.
 */
export class JournalWriter {
  readonly #files: Files;
  readonly #path: string;
  readonly #guards: WriterGuards;
  #handle: FileHandle | undefined;
  #length = 0;
  #queue: { readonly line: string; resolve(): void; reject(error: unknown): void }[] = [];
  #running: Promise<void> | undefined;
  #failure: { readonly error: unknown } | undefined;

  constructor(files: Files, path: string, guards: WriterGuards) {
    this.#files = files;
    this.#path = path;
    this.#guards = guards;
  }

  get failed(): boolean {
    return this.#failure !== undefined;
  }

  append(entry: JournalEntry): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#queue.push({ line: journalLine(entry), resolve, reject });
    this.#running ??= this.#run();
    return promise;
  }

  /** Waits for what was appended, and lets go of the file. */
  async close(): Promise<void> {
    await this.#running;
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close();
  }

  async #run(): Promise<void> {
    await Promise.resolve();
    let isChecked = false;
    while (this.#queue.length > 0) {
      const batch = this.#queue;
      this.#queue = [];
      try {
        if (this.#failure !== undefined) throw this.#failure.error;
        // The look after one append is the look before the next.
        if (!isChecked) await this.#guards.assertHeld();
        isChecked = true;
        await this.#write(Buffer.from(batch.map(({ line }) => line).join('')));
        for (const { resolve } of batch) resolve();
      } catch (error) {
        this.#failure ??= { error: fileProblem(error, 'write', this.#path) };
        for (const { reject } of batch) reject(this.#failure.error);
      }
    }
    this.#running = undefined;
  }

  async #write(bytes: Buffer): Promise<void> {
    this.#guards.failPoint('before-append');
    this.#handle ??= await this.#open();
    const handle = this.#handle;
    try {
      await writeFully(handle, bytes);
      await handle.datasync();
    } catch (error) {
      await handle
        .truncate(this.#length)
        .then(() => handle.datasync())
        .catch(() => undefined);
      throw error;
    }
    // Whoever took the lock away meanwhile may have folded and removed the file before these lines were in it.
    await this.#guards.assertHeld();
    this.#length += bytes.length;
    this.#guards.failPoint('after-append');
  }

  async #open(): Promise<FileHandle> {
    const handle = await this.#files.open(this.#path, 'a', 0o600);
    try {
      await handle.chmod(0o600);
      this.#length = (await handle.stat()).size;
      await syncFolderOf(this.#files, this.#path);
      return handle;
    } catch (error) {
      await handle.close().catch(() => undefined);
      throw error;
    }
  }
}

interface WriterGuards {
  /** Rejects where the lock is no longer ours. */
  assertHeld(): Promise<void>;
  failPoint(name: FailPoint): void;
}
