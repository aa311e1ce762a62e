import { realpathSync } from 'node:fs';
import { type FileHandle, mkdir, open, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import yaml from 'yaml/package.json' with { type: 'json' };
import type { Json } from '../values/json.ts';
import { VERSION } from '../version.ts';
import { type DocumentCache, KEY_LENGTH } from './document-cache.ts';
import type { ParsedFile } from './parse-documents.ts';
import { type SealedForm, SealedLines, writeSealed } from './sealed-lines.ts';

/** Largest cache that is read or written, in bytes: a hundred thousand manifests of 3 kB and their like. */
const MOST_BYTES = 512 * 1024 * 1024;
/** Largest value of a file that is kept, in characters: aliases can stand for far more than the file has. */
const MOST_CHARACTERS = 2 * 1024 * 1024;
/** Kept of what nobody asked for, however little was asked for, in bytes. */
const ALWAYS_KEPT = 1024 * 1024;
/** A side file of this age, in milliseconds, was left behind by a process that died. */
const LEFT_BEHIND = 60_000;

/**
 * Keeps parsed files in one file on the disk, as JSON lines: a head, an entry for each text, and a seal. The seal covers all of it and
 * where and when the file was made, so that a cache that came by Git, by copying, or damaged is taken for none.
 */
export class DocumentFile implements DocumentCache {
  readonly #folder: string;
  readonly #file: string;
  /** Keys of what was asked for and is in the file. */
  readonly #asked = new Set<string>();
  /** What is not in the file yet. */
  readonly #fresh = new Map<string, ParsedFile>();
  #isNew = false;
  /** Null where there is none. */
  #lines: SealedLines | null | undefined;

  /** @param root the real path of the project folder. */
  constructor(root: string) {
    this.#folder = path.join(root, '.voxform', 'cache');
    this.#file = path.join(this.#folder, 'manifests.jsonl');
  }

  get(key: string): ParsedFile | undefined {
    const fresh = this.#fresh.get(key);
    if (fresh !== undefined) return fresh;
    this.#lines ??= openCache(this.#folder, this.#file);
    const line = this.#lines?.line(key);
    if (line === undefined) return undefined;
    this.#asked.add(key);
    return parsedOf(line.toString('utf8'));
  }

  set(key: string, parsed: ParsedFile): void {
    if (parsed.problems.length > 0) return;
    if (parsed.documents.reduce((size, { value }) => size + lengthOf(value), 0) > MOST_CHARACTERS) return;
    this.#fresh.set(key, parsed);
    this.#isNew = true;
  }

  async endRound(): Promise<void> {
    const lines = this.#lines ?? undefined;
    this.#lines = undefined;
    try {
      if (this.#isNew && (await this.#write(lines))) {
        for (const key of this.#fresh.keys()) this.#asked.add(key);
        this.#fresh.clear();
      }
    } catch (error) {
      // A folder that cannot be written, or a full disk: the next run parses again.
      if (!(error instanceof Error && 'code' in error)) throw error;
    } finally {
      this.#isNew = false;
      lines?.close();
    }
  }

  #write(lines: SealedLines | undefined): Promise<boolean> {
    const entries = () => entriesOf(lines, this.#asked, this.#fresh);
    return writeCache({ folder: this.#folder, file: this.#file, entries });
  }
}

/** The first line: whatever another program, or another version of this one, has written is not read. */
function head(): string {
  return `${JSON.stringify({ format: 2, voxform: VERSION, yaml: yaml.version })}\n`;
}

function openCache(folder: string, file: string): SealedLines | null {
  const form: SealedForm = { head: head(), key: { start: 2, length: KEY_LENGTH }, mostBytes: MOST_BYTES };
  try {
    return realpathSync(folder) === folder ? (SealedLines.open(file, form) ?? null) : null;
  } catch {
    return null;
  }
}

type Entry = readonly [
  key: string,
  documents: readonly (readonly [index: number, line: number, value: Json])[],
];

function parsedOf(line: string): ParsedFile {
  const [, documents] = JSON.parse(line) as Entry;
  return { documents: documents.map(([index, at, value]) => ({ index, line: at, value })), problems: [] };
}

function entryLine(key: string, { documents }: ParsedFile): string {
  const entry: Entry = [key, documents.map(({ index, line, value = null }) => [index, line, value])];
  return `${JSON.stringify(entry)}\n`;
}

interface Writing {
  readonly folder: string;
  readonly file: string;
  entries(): Iterable<string | Uint8Array>;
}

/** False where it was left to another process, or could not be done. */
async function writeCache({ folder, file, entries }: Writing): Promise<boolean> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if (realpathSync(folder) !== folder) return false;
  // Projects that no `init` made, and CI jobs that add all of .voxform, keep it out of Git too.
  await writeFile(path.join(folder, '.gitignore'), '*\n', { flag: 'wx', mode: 0o600 }).catch(() => undefined);
  const side = `${file}.tmp`;
  const handle = await openSide(side);
  if (handle === undefined) return false;
  try {
    const isSealed = await writeSealed(handle, head(), entries());
    await handle.close();
    if (isSealed) await rename(side, file);
    else await rm(side);
    return isSealed;
  } catch (error) {
    await handle.close().catch(() => undefined);
    await rm(side, { force: true });
    throw error;
  }
}

/** Undefined while another process writes. */
async function openSide(side: string): Promise<FileHandle | undefined> {
  for (let attempt = 0; attempt < 2; attempt++) {
    try {
      return await open(side, 'wx', 0o600);
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
      const { mtimeMs } = await stat(side);
      if (Date.now() - mtimeMs < LEFT_BEHIND) return undefined;
      await rm(side, { force: true });
    }
  }
  return undefined;
}

/** Lines of what was asked for, then as much again of what was asked for before, the latest first. */
function* entriesOf(
  lines: SealedLines | undefined,
  asked: ReadonlySet<string>,
  fresh: ReadonlyMap<string, ParsedFile>,
): Generator<string | Uint8Array> {
  let size = 0;
  for (const line of linesAskedFor(lines, asked, fresh)) {
    const length = Buffer.byteLength(line);
    if (size + length > MOST_BYTES) return;
    size += length;
    yield line;
  }
  let left = Math.min(Math.max(size, ALWAYS_KEPT), MOST_BYTES - size);
  for (const [key, length] of lines?.sizes() ?? []) {
    if (asked.has(key) || fresh.has(key)) continue;
    left -= length;
    if (left < 0) return;
    const line = lines?.line(key);
    if (line !== undefined) yield line;
  }
}

function* linesAskedFor(
  lines: SealedLines | undefined,
  asked: ReadonlySet<string>,
  fresh: ReadonlyMap<string, ParsedFile>,
): Generator<string | Uint8Array> {
  for (const key of asked) {
    const line = lines?.line(key);
    if (line !== undefined) yield line;
  }
  for (const [key, file] of fresh) yield entryLine(key, file);
}

/** About how many characters the value has as JSON; counts no further than it must. */
function lengthOf(value: Json | undefined): number {
  let size = 0;
  const open: unknown[] = [value];
  for (let next = open.pop(); next !== undefined && size <= MOST_CHARACTERS; next = open.pop()) {
    size += typeof next === 'string' ? next.length : 1;
    if (typeof next !== 'object' || next === null) continue;
    for (const [key, item] of Object.entries(next)) {
      size += key.length;
      open.push(item);
    }
  }
  return size;
}
