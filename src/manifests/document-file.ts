import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readFileSync, realpathSync } from 'node:fs';
import { type FileHandle, mkdir, open, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import yaml from 'yaml/package.json' with { type: 'json' };
import type { Json } from '../values/json.ts';
import { VERSION } from '../version.ts';
import { type DocumentCache, KEY_LENGTH } from './document-cache.ts';
import type { ParsedFile } from './parse-documents.ts';

/** Largest cache that is read or written, in bytes: a hundred thousand manifests of 3 kB and their like. */
const MOST_BYTES = 512 * 1024 * 1024;
/** Largest value of a file that is kept, in characters: aliases can stand for far more than the file has. */
const MOST_CHARACTERS = 2 * 1024 * 1024;
/** Kept of what nobody asked for, however little was asked for, in bytes. */
const ALWAYS_KEPT = 1024 * 1024;
/** Written at once, in bytes. */
const CHUNK = 1024 * 1024;
/** A side file of this age, in milliseconds, was left behind by a process that died. */
const LEFT_BEHIND = 60_000;
/** Characters of the last line: a digest in quotes. */
const SEAL_LENGTH = 46;

const NEWLINE = 10;

interface Line {
  readonly start: number;
  /** Behind the newline. */
  readonly end: number;
}

interface Opened {
  readonly bytes: Buffer;
  readonly lines: ReadonlyMap<string, Line>;
}

const NOTHING: Opened = { bytes: Buffer.alloc(0), lines: new Map() };

/**
 * Keeps parsed files in one file on the disk, as JSON lines: a head, an entry for each text, and a seal. The seal covers all of it and
 * where and when the file was made, so that a cache that came by Git, by copying, or damaged is taken for none.
 */
export class DocumentFile implements DocumentCache {
  readonly #folder: string;
  readonly #file: string;
  readonly #parsed = new Map<string, ParsedFile>();
  #isNew = false;
  #opened: Opened | undefined;

  /** @param root the real path of the project folder. */
  constructor(root: string) {
    this.#folder = path.join(root, '.voxform', 'cache');
    this.#file = path.join(this.#folder, 'manifests.jsonl');
  }

  get(key: string): ParsedFile | undefined {
    const known = this.#parsed.get(key);
    if (known !== undefined) return known;
    this.#opened ??= readCache(this.#folder, this.#file);
    const line = this.#opened.lines.get(key);
    const parsed = line && parsedOf(this.#opened.bytes.toString('utf8', line.start, line.end));
    if (parsed !== undefined) this.#parsed.set(key, parsed);
    return parsed;
  }

  set(key: string, parsed: ParsedFile): void {
    if (parsed.problems.length > 0) return;
    if (parsed.documents.reduce((size, { value }) => size + lengthOf(value), 0) > MOST_CHARACTERS) return;
    this.#parsed.set(key, parsed);
    this.#isNew = true;
  }

  async endRound(): Promise<void> {
    const opened = this.#opened ?? NOTHING;
    this.#opened = undefined;
    if (!this.#isNew) return;
    this.#isNew = false;
    try {
      await writeCache({ folder: this.#folder, file: this.#file, opened, parsed: this.#parsed });
    } catch (error) {
      // A folder that cannot be written, or a full disk: the next run parses again.
      if (!(error instanceof Error && 'code' in error)) throw error;
    }
  }
}

/** The first line: whatever another program, or another version of this one, has written is not read. */
function head(): string {
  return `${JSON.stringify({ format: 1, voxform: VERSION, yaml: yaml.version })}\n`;
}

/** Undefined where the file system does not tell when a file was made. */
function birthOf({ ino, birthtimeNs }: { ino: bigint; birthtimeNs: bigint }): string | undefined {
  return birthtimeNs === 0n ? undefined : `${ino} ${birthtimeNs}\n`;
}

function readCache(folder: string, file: string): Opened {
  let descriptor: number | undefined;
  try {
    if (realpathSync(folder) !== folder) return NOTHING;
    // Neither a link nor a pipe may be followed or waited for.
    const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
    descriptor = openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    const status = fstatSync(descriptor, { bigint: true });
    const birth = birthOf(status);
    if (!status.isFile() || status.size > MOST_BYTES || birth === undefined) return NOTHING;
    const bytes = readFileSync(descriptor);
    return { bytes, lines: linesOf(bytes, birth) };
  } catch {
    return NOTHING;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

function linesOf(bytes: Buffer, birth: string): ReadonlyMap<string, Line> {
  const lines = new Map<string, Line>();
  const first = Buffer.from(head());
  const end = bytes.length - SEAL_LENGTH;
  if (end < first.length || !bytes.subarray(0, first.length).equals(first)) return lines;
  const digest = createHash('sha256').update(birth).update(bytes.subarray(0, end)).digest('base64url');
  if (bytes.toString('latin1', end) !== `"${digest}"\n`) return lines;
  for (let start = first.length; start < end; ) {
    const next = bytes.indexOf(NEWLINE, start) + 1;
    lines.set(bytes.toString('latin1', start + 2, start + 2 + KEY_LENGTH), { start, end: next });
    start = next;
  }
  return lines;
}

type Entry = readonly [
  key: string,
  documents: readonly (readonly [index: number, line: number, value: Json])[],
];

function parsedOf(line: string): ParsedFile {
  const [, documents] = JSON.parse(line) as Entry;
  return { documents: documents.map(([index, at, value]) => ({ index, line: at, value })), problems: [] };
}

function entryLine(key: string, { documents }: ParsedFile): Buffer {
  const entry: Entry = [key, documents.map(({ index, line, value = null }) => [index, line, value])];
  return Buffer.from(`${JSON.stringify(entry)}\n`);
}

interface Writing {
  readonly folder: string;
  readonly file: string;
  readonly opened: Opened;
  /** What was asked for. */
  readonly parsed: ReadonlyMap<string, ParsedFile>;
}

async function writeCache({ folder, file, opened, parsed }: Writing): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if (realpathSync(folder) !== folder) return;
  // Projects that no `init` made, and CI jobs that add all of .voxform, keep it out of Git too.
  await writeFile(path.join(folder, '.gitignore'), '*\n', { flag: 'wx', mode: 0o600 }).catch(() => undefined);
  const side = `${file}.tmp`;
  const handle = await openSide(side);
  if (handle === undefined) return;
  try {
    const isSealed = await writeEntries(handle, entries(opened, parsed));
    await handle.close();
    if (isSealed) await rename(side, file);
    else await rm(side);
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
function* entries({ bytes, lines }: Opened, parsed: ReadonlyMap<string, ParsedFile>): Generator<Buffer> {
  let size = 0;
  for (const [key, file] of parsed) {
    const known = lines.get(key);
    const line = known === undefined ? entryLine(key, file) : bytes.subarray(known.start, known.end);
    if (size + line.length > MOST_BYTES) return;
    size += line.length;
    yield line;
  }
  let left = Math.min(Math.max(size, ALWAYS_KEPT), MOST_BYTES - size);
  for (const [key, { start, end }] of lines) {
    if (parsed.has(key)) continue;
    left -= end - start;
    if (left < 0) return;
    yield bytes.subarray(start, end);
  }
}

async function writeEntries(handle: FileHandle, lines: Iterable<Buffer>): Promise<boolean> {
  const birth = birthOf(await handle.stat({ bigint: true }));
  if (birth === undefined) return false;
  const digest = createHash('sha256').update(birth);
  let chunk: Buffer[] = [Buffer.from(head())];
  let size = 0;
  const flush = async () => {
    const bytes = Buffer.concat(chunk);
    digest.update(bytes);
    await handle.appendFile(bytes);
    chunk = [];
    size = 0;
  };
  for (const line of lines) {
    chunk.push(line);
    size += line.length;
    if (size >= CHUNK) await flush();
  }
  await flush();
  await handle.appendFile(`"${digest.digest('base64url')}"\n`);
  return true;
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
