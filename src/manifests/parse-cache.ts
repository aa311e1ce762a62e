import { createCipheriv, createDecipheriv, createHash, hash, randomBytes } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { readdir, readFile, rm, stat, utimes } from 'node:fs/promises';
import path from 'node:path';
import yaml from 'yaml/package.json' with { type: 'json' };
import { makeFolders } from '../files/files.ts';
import { replaceFile } from '../files/replace-file.ts';
import { lengthOfPart, totalSize } from '../values/json.ts';
import { VERSION } from '../version.ts';
import type { ParsedDocument, ParsedFile } from './parse-documents.ts';

/** The maximum size of a cache that is read or written, in bytes: about 100,000 manifests of 3 kB. */
const MAX_BYTES = 512 * 1024 * 1024;
/** The maximum size of a parsed file that is cached, in characters: aliases may expand far beyond the size of the file. */
const MAX_CHARACTERS = 2 * 1024 * 1024;
/** The minimum number of bytes of unrequested entries that are kept. */
const MIN_KEPT_BYTES = 1024 * 1024;
/** The number of bytes per write. */
const CHUNK_BYTES = 1024 * 1024;
/** The cache of a project is removed if it has not been used for this long. */
const MAX_UNUSED_MS = 30 * 24 * 60 * 60 * 1000;

/** The first line of a cache. Files of other programs or versions are ignored. */
const HEAD = `${JSON.stringify({ format: 3, voxform: VERSION, yaml: yaml.version })}\n`;

/** An encrypted cache consists of a nonce, the encrypted content, and the tag that authenticates it. */
const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

type CacheEntry = readonly [key: string, documents: readonly ParsedDocument[]];

/** Caches parsed files in one file of JSON lines: a header, one entry per text, and a digest to detect a damaged file. */
export class ParseCache implements DocumentCache {
  readonly #file: string;
  readonly #keyOf: (() => Buffer | undefined) | undefined;
  #lines: CacheLines | undefined;
  /** Requested keys that the file contains. */
  #requested = new Set<string>();
  /** Entries that the file does not contain yet. */
  #added = new Map<string, ParsedFile>();

  /**
   * @param root the real path of the project folder.
   * @param keyOf returns the key that encrypts the file. While the key is unknown, nothing is cached. Without `keyOf`, the file is plain
   * text.
   */
  constructor(cacheFolder: string, root: string, keyOf?: () => Buffer | undefined) {
    this.#file = path.join(cacheFolder, 'manifests', `${hash('sha256', root).slice(0, 24)}.jsonl`);
    this.#keyOf = keyOf;
  }

  get(key: string): ParsedFile | undefined {
    this.#lines ??= CacheLines.read(this.#file, this.#keyOf);
    const line = this.#lines.get(key);
    if (line === undefined) return this.#added.get(key);
    this.#requested.add(key);
    return { documents: (JSON.parse(line) as CacheEntry)[1], problems: [] };
  }

  set(key: string, parsed: ParsedFile): void {
    if (parsed.problems.length > 0) return;
    if (
      parsed.documents.reduce((size, { value }) => size + totalSize(value, MAX_CHARACTERS, lengthOfPart), 0) >
      MAX_CHARACTERS
    )
      return;
    this.#added.set(key, parsed);
  }

  async endRound(): Promise<void> {
    try {
      const key = this.#keyOf?.();
      if (this.#keyOf !== undefined && key === undefined) await removePlain(this.#file);
      else if (this.#added.size > 0) await write(this.#file, this.#linesToKeep(), key);
      else if (this.#requested.size > 0) await utimes(this.#file, new Date(), new Date());
    } catch (error) {
      // If the folder cannot be written, the next run parses the files again.
      if (!(error instanceof Error && 'code' in error)) throw error;
    } finally {
      this.#lines = undefined;
      this.#requested = new Set();
      this.#added = new Map();
    }
  }

  /** Yields the lines of requested entries, then up to the same number of bytes of unrequested entries, newest first. */
  *#linesToKeep(): Generator<string> {
    let size = 0;
    for (const line of this.#requestedLines()) {
      size += Buffer.byteLength(line);
      if (size > MAX_BYTES) return;
      yield line;
    }
    let remainingBytes = Math.min(Math.max(size, MIN_KEPT_BYTES), MAX_BYTES - size);
    for (const [key, line] of this.#lines?.entries() ?? []) {
      if (this.#requested.has(key) || this.#added.has(key)) continue;
      remainingBytes -= Buffer.byteLength(line);
      if (remainingBytes < 0) return;
      yield line;
    }
  }

  *#requestedLines(): Generator<string> {
    for (const key of this.#requested) yield this.#lines?.get(key) ?? '';
    for (const [key, { documents }] of this.#added) {
      yield `${JSON.stringify([key, documents] satisfies CacheEntry)}\n`;
    }
  }
}

/** The lines of a cache file by key. They are stored as bytes, because most lines are only copied. */
class CacheLines {
  readonly #bytes: Buffer;
  readonly #ranges = new Map<string, readonly [start: number, end: number]>();

  /** @param bytes the content of the file without the digest. */
  private constructor(bytes: Buffer) {
    this.#bytes = bytes;
    let start = HEAD.length;
    for (let end = bytes.indexOf('\n', start) + 1; end > 0; end = bytes.indexOf('\n', start) + 1) {
      this.#ranges.set(bytes.toString('latin1', start + 2, start + 2 + KEY_LENGTH), [start, end]);
      start = end;
    }
  }

  /** Reads a cache. Returns no lines if the file does not exist or is damaged. */
  static read(file: string, keyOf: (() => Buffer | undefined) | undefined): CacheLines {
    const empty = new CacheLines(Buffer.alloc(0));
    try {
      const status = statSync(file);
      if (!status.isFile() || status.size > MAX_BYTES) return empty;
      const bytes = keyOf === undefined ? readFileSync(file) : decrypt(readFileSync(file), keyOf());
      const end = bytes.lastIndexOf('\n', -2) + 1;
      const lines = bytes.subarray(0, end);
      if (bytes.toString('latin1', 0, HEAD.length) !== HEAD) return empty;
      return bytes.toString('latin1', end) === digestLine(hash('sha256', lines)) ? new CacheLines(lines) : empty;
    } catch {
      return empty;
    }
  }

  /** Returns a line with its newline. */
  get(key: string): string | undefined {
    const range = this.#ranges.get(key);
    return range && this.#bytes.toString('utf8', ...range);
  }

  *entries(): Generator<readonly [key: string, line: string]> {
    for (const [key, range] of this.#ranges) yield [key, this.#bytes.toString('utf8', ...range)];
  }
}

async function write(file: string, lines: Iterable<string>, key: Buffer | undefined): Promise<void> {
  const folder = path.dirname(file);
  await makeFolders(folder, { mode: 0o700 });
  const chunks = chunksOf(lines);
  await replaceFile(file, key === undefined ? chunks : encrypt(chunks, key), { isDurable: false });
  await removeUnused(folder);
}

/** Removes a plain-text cache that was written before the project was sealed. */
async function removePlain(file: string): Promise<void> {
  const head = await readFile(file, 'latin1').catch(() => '');
  if (head.startsWith('{')) await rm(file, { force: true });
}

function* encrypt(chunks: Iterable<Buffer>, key: Buffer): Generator<Buffer> {
  const nonce = randomBytes(NONCE_BYTES);
  yield nonce;
  const cipher = createCipheriv(CIPHER, key, nonce);
  for (const chunk of chunks) yield cipher.update(chunk);
  yield Buffer.concat([cipher.final(), cipher.getAuthTag()]);
}

/** @throws if the key is missing or is not the key that encrypted the bytes. */
function decrypt(bytes: Buffer, key: Buffer | undefined): Buffer {
  if (key === undefined) throw new Error('no key');
  const tagAt = bytes.length - TAG_BYTES;
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES)).setAuthTag(bytes.subarray(tagAt));
  const content = decipher.update(bytes.subarray(NONCE_BYTES, tagAt));
  decipher.final();
  return content;
}

function* chunksOf(lines: Iterable<string>): Generator<Buffer> {
  const digest = createHash('sha256');
  // All chunks share one buffer. With a buffer per line, the garbage collector would have to free 10,000 buffers.
  let buffer = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  let filled = buffer.write(HEAD);
  const flush = (): Buffer => {
    const bytes = buffer.subarray(0, filled);
    digest.update(bytes);
    filled = 0;
    return bytes;
  };
  for (const line of lines) {
    const length = Buffer.byteLength(line);
    if (filled + length > buffer.length) yield flush();
    if (length > buffer.length) buffer = Buffer.allocUnsafeSlow(length);
    filled += buffer.write(line, filled);
  }
  yield flush();
  yield Buffer.from(digestLine(digest.digest('hex')));
}

function digestLine(digest: string): string {
  return `"${digest}"\n`;
}

/** Removes caches that have not been used for `MAX_UNUSED_MS`. */
async function removeUnused(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const file = path.join(folder, name);
    const { mtimeMs } = await stat(file);
    if (Date.now() - mtimeMs > MAX_UNUSED_MS) await rm(file, { force: true });
  }
}

/** A cache of parsed files, whose keys are digests of the contents. It may drop any entry at any time. */
export interface DocumentCache {
  get(key: string): ParsedFile | undefined;
  set(key: string, parsed: ParsedFile): void;
  /** Called at the end of each load of a project. Entries that were not requested since the last call may be dropped. Never throws. */
  endRound(): Promise<void>;
}

/** Returns the digest of a text. A string must be well-formed Unicode, because all lone surrogates would have the same key. */
export function documentKey(text: string | Uint8Array): string {
  return hash('sha256', text, 'base64url');
}

const KEY_LENGTH = 43;

/** A cache in memory, with the entries of the current and the previous load. */
export class DocumentMemory implements DocumentCache {
  #current = new Map<string, ParsedFile>();
  #last: ReadonlyMap<string, ParsedFile> = new Map();

  get(key: string): ParsedFile | undefined {
    const known = this.#current.get(key) ?? this.#last.get(key);
    if (known !== undefined) this.#current.set(key, known);
    return known;
  }

  set(key: string, parsed: ParsedFile): void {
    this.#current.set(key, parsed);
  }

  async endRound(): Promise<void> {
    this.#last = this.#current;
    this.#current = new Map();
  }
}
