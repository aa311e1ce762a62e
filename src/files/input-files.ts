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
 * Manifests, settings and secrets reach a load through these functions only, so that `SeenFiles` knows of everything that a load depends
 * on, also of what was not there.
 */

/** Milliseconds: within the tick of a file system's clock a file can change again, and look the same. */
const LONGEST_TICK = 2000;

const current = new AsyncLocalStorage<SeenFiles>();

/** What some work has seen of the file system, to tell whether it would see the same again. */
export class SeenFiles {
  readonly #now: () => number;
  readonly #stamps = new Map<string, string>();
  readonly #paths = new Map<string, string>();
  readonly #links = new Map<string, string>();
  #isCertain = true;
  #bytes = 0n;

  constructor(now = Date.now) {
    this.#now = now;
  }

  /** Does work and takes note of all that it looks at. */
  during<T>(work: () => Promise<T>): Promise<T> {
    return current.run(this, work);
  }

  /** Of all files that were opened. */
  get bytes(): number {
    return Number(this.#bytes);
  }

  /** False also where it is not certain. */
  isUnchanged(): boolean {
    return (
      this.#isCertain &&
      all(this.#stamps, (file, stamp) => stampOf(lookAt(file)) === stamp) &&
      all(
        this.#paths,
        (file, real) =>
          answerOf(() => realpathSync.native(file)) === real || answerOf(() => realpathSync(file)) === real,
      ) &&
      all(this.#links, (link, target) => answerOf(() => readlinkSync(link)) === target)
    );
  }

  stamp(file: string, seen: Look): void {
    this.#note(this.#stamps, file, stampOf(seen));
    if (typeof seen === 'string') return;
    if (seen.isFile()) this.#bytes += seen.size;
    const newest = seen.ctimeNs > seen.mtimeNs ? seen.ctimeNs : seen.mtimeNs;
    this.#isCertain &&= newest / 1_000_000n < BigInt(this.#now() - LONGEST_TICK);
  }

  path(file: string, real: string): void {
    this.#note(this.#paths, file, real);
  }

  link(link: string, target: string): void {
    this.#note(this.#links, link, target);
  }

  #note(seen: Map<string, string>, file: string, answer: string): void {
    this.#isCertain &&= (seen.get(file) ?? answer) === answer;
    seen.set(file, answer);
  }
}

/** What is at a path, or the code of the error. */
type Look = BigIntStats | string;

function lookAt(file: string): Look {
  try {
    return statSync(file, { bigint: true, throwIfNoEntry: false }) ?? 'ENOENT';
  } catch (error) {
    return String(errorCode(error));
  }
}

/** Equal only as long as nothing is replaced or written. A person can set all of it back but the time of the change. */
function stampOf(seen: Look): string {
  if (typeof seen === 'string') return seen;
  const { dev, ino, size, mtimeNs, ctimeNs } = seen;
  return `${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs}`;
}

function answerOf(ask: () => string): string {
  try {
    return ask();
  } catch (error) {
    return `\0${errorCode(error)}`;
  }
}

function all(seen: ReadonlyMap<string, string>, isSame: (file: string, answer: string) => boolean): boolean {
  for (const [file, answer] of seen) if (!isSame(file, answer)) return false;
  return true;
}

/** Asks the view that the work has, or the disk where it has none. */
function inView<T>(question: string, file: string, ask: () => T): T {
  const view = fileView();
  return view === undefined ? ask() : view.asked(question, file, ask);
}

/** As `realpathSync`. */
export function realPathOf(file: string): string {
  try {
    return inView('path', file, () => realPathOnDisk(file));
  } catch (error) {
    const unsaved = realPathOfUnsaved(file);
    if (unsaved === undefined) throw error;
    return unsaved;
  }
}

/** Of a file that is not on the disk, and has a text in the view all the same. */
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

/** Where a link leads to; undefined where it is none. */
export function linkTarget(link: string): string | undefined {
  current.getStore()?.link(
    link,
    answerOf(() => readlinkSync(link)),
  );
  return attempt(() => readlinkSync(link));
}

/** What is at a path once links are followed; undefined where nothing can be seen there. */
export function statusOf(file: string): BigIntStats | undefined {
  return inView('status', file, () => statusOnDisk(file));
}

function statusOnDisk(file: string): BigIntStats | undefined {
  const seen = lookAt(file);
  current.getStore()?.stamp(file, seen);
  return typeof seen === 'string' ? undefined : seen;
}

export function isFolder(file: string): boolean {
  return statusOf(file)?.isDirectory() === true;
}

/** As much of an entry of a folder as its kind needs. */
export type FolderEntry = Pick<Dirent, 'name' | 'isFile' | 'isDirectory' | 'isSymbolicLink'>;

/** As `readdirSync`. */
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
  // First: what comes later changes the time.
  current.getStore()?.stamp(folder, lookAt(folder));
  return readdirSync(folder, { withFileTypes: true });
}

/** A pipe is not waited for. */
const READING = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

export function withOpen<T>(file: string, work: (descriptor: number) => T): T {
  const seen = current.getStore();
  let descriptor: number;
  try {
    descriptor = openSync(file, READING);
  } catch (error) {
    seen?.stamp(file, String(errorCode(error)));
    throw error;
  }
  try {
    seen?.stamp(file, fstatSync(descriptor, { bigint: true }));
    return work(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
