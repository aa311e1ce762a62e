import { createCipheriv, createDecipheriv, createHash, hash, randomBytes } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, stat, utimes } from 'node:fs/promises';
import path from 'node:path';
import yaml from 'yaml/package.json' with { type: 'json' };
import { replaceFile } from '../files/replace-file.ts';
import type { Json } from '../values/json.ts';
import { VERSION } from '../version.ts';
import type { ParsedDocument, ParsedFile } from './parse-documents.ts';

/** Bytes. The largest cache that is read or written: about 100,000 manifests of 3 kB. */
const MAX_BYTES = 512 * 1024 * 1024;
/** Characters. The largest parsed value that is kept: aliases may expand far beyond the file. */
const MAX_CHARACTERS = 2 * 1024 * 1024;
/** Bytes of unrequested entries that are always kept. */
const ALWAYS_KEPT = 1024 * 1024;
/** Bytes per write. */
const CHUNK = 1024 * 1024;
/** Milliseconds after which the cache of an unused project is removed. */
const LONGEST_UNUSED = 30 * 24 * 60 * 60 * 1000;

/** The first line. Files of other programs or versions are ignored. */
const HEAD = `${JSON.stringify({ format: 3, voxform: VERSION, yaml: yaml.version })}\n`;

/** A sealed file: a nonce, the encrypted content, and the tag that authenticates it. */
const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

type CacheEntry = readonly [key: string, documents: readonly ParsedDocument[]];

/** Keeps parsed files in one file of JSON lines: a head, an entry per text, and a digest, so that a damaged file is ignored. */
export class ParseCache implements DocumentCache {
  readonly #file: string;
  readonly #keyOf: (() => Buffer | undefined) | undefined;
  #lines: Lines | undefined;
  /** Requested keys that the file contains. */
  #asked = new Set<string>();
  /** Entries that the file does not contain yet. */
  #fresh = new Map<string, ParsedFile>();

  /**
   * @param root the real path of the project folder.
   * @param keyOf the key that encrypts the file; nothing is kept while it is not known. Without this parameter, the file is plain text.
   */
  constructor(cacheFolder: string, root: string, keyOf?: () => Buffer | undefined) {
    this.#file = path.join(cacheFolder, 'manifests', `${hash('sha256', root).slice(0, 24)}.jsonl`);
    this.#keyOf = keyOf;
  }

  get(key: string): ParsedFile | undefined {
    this.#lines ??= Lines.read(this.#file, this.#keyOf);
    const line = this.#lines.get(key);
    if (line === undefined) return this.#fresh.get(key);
    this.#asked.add(key);
    return { documents: (JSON.parse(line) as CacheEntry)[1], problems: [] };
  }

  set(key: string, parsed: ParsedFile): void {
    if (parsed.problems.length > 0) return;
    if (parsed.documents.reduce((size, { value }) => size + lengthOf(value), 0) > MAX_CHARACTERS) return;
    this.#fresh.set(key, parsed);
  }

  async endRound(): Promise<void> {
    try {
      const key = this.#keyOf?.();
      if (this.#keyOf !== undefined && key === undefined) await removePlain(this.#file);
      else if (this.#fresh.size > 0) await write(this.#file, this.#kept(), key);
      else if (this.#asked.size > 0) await utimes(this.#file, new Date(), new Date());
    } catch (error) {
      // If the folder cannot be written, the next run parses again.
      if (!(error instanceof Error && 'code' in error)) throw error;
    } finally {
      this.#lines = undefined;
      this.#asked = new Set();
      this.#fresh = new Map();
    }
  }

  /** The lines of requested entries, then as many unrequested ones, newest first. */
  *#kept(): Generator<string> {
    let size = 0;
    for (const line of this.#requestedLines()) {
      size += Buffer.byteLength(line);
      if (size > MAX_BYTES) return;
      yield line;
    }
    let left = Math.min(Math.max(size, ALWAYS_KEPT), MAX_BYTES - size);
    for (const [key, line] of this.#lines?.entries() ?? []) {
      if (this.#asked.has(key) || this.#fresh.has(key)) continue;
      left -= Buffer.byteLength(line);
      if (left < 0) return;
      yield line;
    }
  }

  *#requestedLines(): Generator<string> {
    for (const key of this.#asked) yield this.#lines?.get(key) ?? '';
    for (const [key, { documents }] of this.#fresh) {
      yield `${JSON.stringify([key, documents] satisfies CacheEntry)}\n`;
    }
  }
}

/** The lines of a cache by key, as bytes: most are only copied. */
class Lines {
  readonly #bytes: Buffer;
  readonly #places = new Map<string, readonly [start: number, end: number]>();

  /** @param bytes without the digest. */
  private constructor(bytes: Buffer) {
    this.#bytes = bytes;
    let start = HEAD.length;
    for (let end = bytes.indexOf('\n', start) + 1; end > 0; end = bytes.indexOf('\n', start) + 1) {
      this.#places.set(bytes.toString('latin1', start + 2, start + 2 + KEY_LENGTH), [start, end]);
      start = end;
    }
  }

  /** Empty if the file does not exist or is damaged. */
  static read(file: string, keyOf: (() => Buffer | undefined) | undefined): Lines {
    const none = new Lines(Buffer.alloc(0));
    try {
      const status = statSync(file);
      if (!status.isFile() || status.size > MAX_BYTES) return none;
      const bytes = keyOf === undefined ? readFileSync(file) : decrypted(readFileSync(file), keyOf());
      const end = bytes.lastIndexOf('\n', -2) + 1;
      const lines = bytes.subarray(0, end);
      if (bytes.toString('latin1', 0, HEAD.length) !== HEAD) return none;
      return bytes.toString('latin1', end) === digestLine(hash('sha256', lines)) ? new Lines(lines) : none;
    } catch {
      return none;
    }
  }

  /** With its newline. */
  get(key: string): string | undefined {
    const place = this.#places.get(key);
    return place && this.#bytes.toString('utf8', ...place);
  }

  *entries(): Generator<readonly [key: string, line: string]> {
    for (const [key, place] of this.#places) yield [key, this.#bytes.toString('utf8', ...place)];
  }
}

async function write(file: string, lines: Iterable<string>, key: Buffer | undefined): Promise<void> {
  const folder = path.dirname(file);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const chunks = chunksOf(lines);
  await replaceFile(file, key === undefined ? chunks : encrypted(chunks, key), { isDurable: false });
  await removeUnused(folder);
}

/** Removes a file of the time before the project was sealed. */
async function removePlain(file: string): Promise<void> {
  const head = await readFile(file, 'latin1').catch(() => '');
  if (head.startsWith('{')) await rm(file, { force: true });
}

function* encrypted(chunks: Iterable<Buffer>, key: Buffer): Generator<Buffer> {
  const nonce = randomBytes(NONCE_BYTES);
  yield nonce;
  const cipher = createCipheriv(CIPHER, key, nonce);
  for (const chunk of chunks) yield cipher.update(chunk);
  yield Buffer.concat([cipher.final(), cipher.getAuthTag()]);
}

/** @throws if the key is missing, or is not the one that encrypted the bytes. */
function decrypted(bytes: Buffer, key: Buffer | undefined): Buffer {
  if (key === undefined) throw new Error('no key');
  const tagAt = bytes.length - TAG_BYTES;
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES)).setAuthTag(bytes.subarray(tagAt));
  const content = decipher.update(bytes.subarray(NONCE_BYTES, tagAt));
  decipher.final();
  return content;
}

function* chunksOf(lines: Iterable<string>): Generator<Buffer> {
  const digest = createHash('sha256');
  // One shared buffer: 10,000 lines would otherwise wait for garbage collection.
  let room = Buffer.allocUnsafeSlow(CHUNK);
  let filled = room.write(HEAD);
  const taken = (): Buffer => {
    const bytes = room.subarray(0, filled);
    digest.update(bytes);
    filled = 0;
    return bytes;
  };
  for (const line of lines) {
    const length = Buffer.byteLength(line);
    if (filled + length > room.length) yield taken();
    if (length > room.length) room = Buffer.allocUnsafeSlow(length);
    filled += room.write(line, filled);
  }
  yield taken();
  yield Buffer.from(digestLine(digest.digest('hex')));
}

function digestLine(digest: string): string {
  return `"${digest}"\n`;
}

/** Removes the caches of unused projects. */
async function removeUnused(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const file = path.join(folder, name);
    const { mtimeMs } = await stat(file);
    if (Date.now() - mtimeMs > LONGEST_UNUSED) await rm(file, { force: true });
  }
}

/** The approximate length of a value as JSON; stops counting at the limit. */
function lengthOf(value: Json | undefined): number {
  let size = 0;
  const open: unknown[] = [value];
  for (let next = open.pop(); next !== undefined && size <= MAX_CHARACTERS; next = open.pop()) {
    size += typeof next === 'string' ? next.length : 1;
    if (typeof next !== 'object' || next === null) continue;
    for (const [key, item] of Object.entries(next)) {
      size += key.length;
      open.push(item);
    }
  }
  return size;
}

/** Parsed files by their contents. A cache may drop any entry at any time. */
export interface DocumentCache {
  get(key: string): ParsedFile | undefined;
  set(key: string, parsed: ParsedFile): void;
  /** Called after all files of a project were requested. Entries that were not requested may be dropped. Never throws. */
  endRound(): Promise<void>;
}

/** The digest of a text or of bytes. A text must be well-formed Unicode, because lone surrogates would share a key. */
export function documentKey(text: string | Uint8Array): string {
  return hash('sha256', text, 'base64url');
}

const KEY_LENGTH = 43;

/** Keeps the entries of the last round in memory. */
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
