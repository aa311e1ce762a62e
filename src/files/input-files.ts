import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type BigIntStats,
  closeSync,
  constants,
  type Dirent,
  fstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  statSync,
} from 'node:fs';
import path from 'node:path';
import { attempt } from '../problems/attempt.ts';
import { errorCode } from '../problems/error-code.ts';
import { fileView } from './file-view.ts';

/*
 * A load reads manifests, settings and secrets only through these functions, so that `FileReads` records all files that the load depends
 * on, including missing files.
 */

/** The coarsest resolution of file system timestamps. Within this time, a file can change twice and keep the same timestamp. */
const MAX_TICK_MS = 2000;

const current = new AsyncLocalStorage<FileReads>();

/** Records the files that some work reads, to determine whether repeating the work would read the same content. */
export class FileReads {
  readonly #now: () => number;
  readonly #stamps = new Map<string, string>();
  readonly #paths = new Map<string, string>();
  readonly #links = new Map<string, string>();
  #isCertain = true;
  #bytes = 0n;

  constructor(now = Date.now) {
    this.#now = now;
  }

  /** Runs work and records everything that it reads. */
  during<T>(work: () => Promise<T>): Promise<T> {
    return current.run(this, work);
  }

  /** The total size of all read files in bytes. */
  get bytes(): number {
    return Number(this.#bytes);
  }

  /** True if no recorded file has changed. False if this cannot be determined. */
  isUnchanged(): boolean {
    return (
      this.#isCertain &&
      all(this.#stamps, (file, stamp) => stampOf(readStatus(file)) === stamp) &&
      all(
        this.#paths,
        (file, real) =>
          answerOf(() => realpathSync.native(file)) === real || answerOf(() => realpathSync(file)) === real,
      ) &&
      all(this.#links, (link, target) => answerOf(() => readlinkSync(link)) === target)
    );
  }

  stamp(file: string, status: PathStatus): void {
    this.#note(this.#stamps, file, stampOf(status));
    if (typeof status === 'string') return;
    if (status.isFile()) this.#bytes += status.size;
    const newest = status.ctimeNs > status.mtimeNs ? status.ctimeNs : status.mtimeNs;
    this.#isCertain &&= newest / 1_000_000n < BigInt(this.#now() - MAX_TICK_MS);
  }

  path(file: string, real: string): void {
    this.#note(this.#paths, file, real);
  }

  link(link: string, target: string): void {
    this.#note(this.#links, link, target);
  }

  #note(answers: Map<string, string>, file: string, answer: string): void {
    this.#isCertain &&= (answers.get(file) ?? answer) === answer;
    answers.set(file, answer);
  }
}

/** The status of a path, or the error code. */
type PathStatus = BigIntStats | string;

function readStatus(file: string): PathStatus {
  try {
    return statSync(file, { bigint: true, throwIfNoEntry: false }) ?? 'ENOENT';
  } catch (error) {
    return String(errorCode(error));
  }
}

/** Returns a stamp that changes if the file is replaced or written. A program can set back the mtime, but not the ctime. */
function stampOf(status: PathStatus): string {
  if (typeof status === 'string') return status;
  const { dev, ino, size, mtimeNs, ctimeNs } = status;
  return `${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs}`;
}

function answerOf(query: () => string): string {
  try {
    return query();
  } catch (error) {
    return `\0${errorCode(error)}`;
  }
}

function all(answers: ReadonlyMap<string, string>, isSame: (file: string, answer: string) => boolean): boolean {
  for (const [file, answer] of answers) if (!isSame(file, answer)) return false;
  return true;
}

/** Returns the result of the current view, or runs the query if there is no view. */
function inView<T>(question: string, file: string, query: () => T): T {
  const view = fileView();
  return view === undefined ? query() : view.cached(question, file, query);
}

/** Like `realpathSync`, but also resolves a file that exists only in the current view. */
export function realPathOf(file: string): string {
  try {
    return inView('path', file, () => realPathOnDisk(file));
  } catch (error) {
    const unsaved = realPathOfUnsaved(file);
    if (unsaved === undefined) throw error;
    return unsaved;
  }
}

/** Returns the real path of a file that exists only in the view, or undefined for any other file. */
function realPathOfUnsaved(file: string): string | undefined {
  const view = fileView();
  if (view === undefined || view.textOf(file) !== undefined) return view && file;
  const folder = attempt(() => inView('path', path.dirname(file), () => realPathOnDisk(path.dirname(file))));
  const real = folder && path.join(folder, path.basename(file));
  return real !== undefined && view.textOf(real) !== undefined ? real : undefined;
}

function realPathOnDisk(file: string): string {
  try {
    const real = realpathSync(file);
    current.getStore()?.path(file, real);
    return real;
  } catch (error) {
    current.getStore()?.path(file, `\0${errorCode(error)}`);
    throw error;
  }
}

/** Returns the target of a symbolic link, or undefined if the path is not a link. */
export function linkTarget(link: string): string | undefined {
  current.getStore()?.link(
    link,
    answerOf(() => readlinkSync(link)),
  );
  return attempt(() => readlinkSync(link));
}

/** Returns the status of a path, following links, or undefined if it cannot be read. */
export function statusOf(file: string): BigIntStats | undefined {
  return inView('status', file, () => statusOnDisk(file));
}

function statusOnDisk(file: string): BigIntStats | undefined {
  const status = readStatus(file);
  current.getStore()?.stamp(file, status);
  return typeof status === 'string' ? undefined : status;
}

export function isFolder(file: string): boolean {
  return statusOf(file)?.isDirectory() === true;
}

export type FolderEntry = Pick<Dirent, 'name' | 'isFile' | 'isDirectory' | 'isSymbolicLink'>;

/** Like `readdirSync`, but includes the files that exist only in the current view. */
export function entriesOf(folder: string): readonly FolderEntry[] {
  const entries = inView('entries', folder, () => entriesOnDisk(folder));
  const names = fileView()?.namesIn(folder) ?? [];
  const unsaved = names.filter((name) => !entries.some((entry) => entry.name === name));
  return unsaved.length === 0 ? entries : [...entries, ...unsaved.map(fileNamed)];
}

function fileNamed(name: string): FolderEntry {
  return { name, isFile: () => true, isDirectory: () => false, isSymbolicLink: () => false };
}

function entriesOnDisk(folder: string): Dirent[] {
  // Record the status before reading, so that a change in between is detected.
  current.getStore()?.stamp(folder, readStatus(folder));
  return readdirSync(folder, { withFileTypes: true });
}

/** The flags for reading. Without O_NONBLOCK, opening a named pipe waits for a writer. */
const READING = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

export function withOpen<T>(file: string, work: (descriptor: number) => T): T {
  const reads = current.getStore();
  let descriptor: number;
  try {
    descriptor = openSync(file, READING);
  } catch (error) {
    reads?.stamp(file, String(errorCode(error)));
    throw error;
  }
  try {
    reads?.stamp(file, fstatSync(descriptor, { bigint: true }));
    return work(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
