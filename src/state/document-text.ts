import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import type { z } from 'zod';
import { shellWord } from '../problems/shell-word.ts';
import { type Advice, advice, command, UserError } from '../problems/user-error.ts';
import { type Immutable, isDeeperThan, isObject, type Json, parsedJson, setOwn, sortKeys } from '../values/json.ts';
import { hasConflict, mergeConflict } from './merge-conflict.ts';
import {
  isSealed,
  type ResourceEntry,
  resourceEntry,
  SEALED_FORMAT_VERSION,
  STATE_FORMAT_VERSION,
  type StateDocument,
  type StoredDocument,
  stateDocument,
  type WrittenDocument,
  writtenDocument,
} from './state-document.ts';
import { LostState, MovedState, movedMark } from './state-errors.ts';

/** The maximum size in bytes; a string of Node can have little more. */
export const LARGEST = 512_000_000;

/* The text before the digest, the last key of the document. JSON strings contain no line breaks. */
const BEFORE_DIGEST = ',\n  "write_digest": ';
const AFTER_DIGEST = '\n}\n';
const END_LENGTH = endAfter(Buffer.alloc(0)).length;

/** The document as written: sorted keys, two spaces, a final newline, and the digest of everything before it. */
export function stateBytes(document: StoredDocument): Buffer {
  const content = contentOf(document);
  const length = Buffer.byteLength(content);
  const bytes = Buffer.allocUnsafe(length + END_LENGTH);
  refuseTooLarge(bytes.length);
  bytes.write(content);
  bytes.write(endAfter(bytes.subarray(0, length)), length);
  return bytes;
}

/** The digest that the document has when it is written. */
export function digestOf(document: StoredDocument): string {
  return digestAfter(Buffer.from(contentOf(document)));
}

/** True if the bytes are exactly those of `stateBytes`. The content of another layout may still be right. */
function isAsWritten(bytes: Uint8Array): boolean {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = all.lastIndexOf(BEFORE_DIGEST);
  return end !== -1 && all.toString('latin1', end) === endAfter(all.subarray(0, end));
}

function refuseTooLarge(bytes: number): void {
  if (bytes <= LARGEST) return;
  throw new UserError(`the state is larger than ${LARGEST / 1_000_000} MB`, {
    hint: 'Divide the workspace: release some of its resources, and import them in another project.',
  });
}

function contentOf(document: StoredDocument): string {
  try {
    return JSON.stringify(sortKeys(document as unknown as Json), null, 2).slice(0, -'\n}'.length);
  } catch (error) {
    if (error instanceof RangeError) refuseTooLarge(Number.POSITIVE_INFINITY);
    throw error;
  }
}

function endAfter(content: Uint8Array): string {
  return `${BEFORE_DIGEST}${JSON.stringify(digestAfter(content))}${AFTER_DIGEST}`;
}

function digestAfter(content: Uint8Array): string {
  return `sha256:${hash('sha256', content)}`;
}

/** The maximum depth: far deeper than manifests can nest, and safe for recursive functions. */
const DEEPEST = 500;

/**
 * Parses the output of `stateBytes`.
 * @param name the name in messages, e.g. its path.
 * @param hint how to restore a damaged state.
 * @throws LostState if it is damaged, or does not match its digest.
 * @throws MovedState if it is the mark of a moved state.
 * @throws UserError if a newer voxform wrote it.
 */
export function parseState(bytes: Uint8Array, name: string, hint: Advice): StoredDocument {
  const written = parseWritten(bytes, name, hint);
  const document = withoutDigest(written);
  if (written.format_version === 1 || isAsWritten(bytes) || written.write_digest === digestOf(document)) {
    return document;
  }
  throw new LostState(`the state ${name} was edited or damaged: its content does not match its digest`, {
    hint: advice`To keep an edit: ${command(`state push --force ${shellWord(name)}`)}. ${hint}`,
  });
}

/** A `parseState` for repeated reads: it parses equal bytes once. */
export function parserWithMemory(): typeof parseState {
  let last: { readonly digest: string; readonly document: StoredDocument } | undefined;
  return (bytes, name, hint) => {
    const digest = hash('sha256', bytes);
    if (last?.digest !== digest) last = { digest, document: parseState(bytes, name, hint) };
    return last.document;
  };
}

/** As `parseState`, without a check of the digest: the document may have been edited. */
export function parseEdited(bytes: Uint8Array, name: string, hint: Advice): StoredDocument {
  return withoutDigest(parseWritten(bytes, name, hint));
}

function withoutDigest(written: WrittenDocument): StoredDocument {
  if (written.format_version === 1) return { ...written, format_version: STATE_FORMAT_VERSION, write: '' };
  const { write_digest: _, ...document } = written;
  return document;
}

function parseWritten(bytes: Uint8Array, name: string, hint: Advice): WrittenDocument {
  const damaged = (reason: string, cause?: unknown): LostState =>
    new LostState(`the state ${name} is damaged: ${reason}`, { hint, cause });
  if (bytes.length === 0) throw damaged('it is empty');
  refuseTooLarge(bytes.length);
  const inParts = parseInParts(bytes, DEEPEST);
  if (inParts !== undefined) return inParts;
  let value: unknown;
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    if (hasConflict(text)) {
      throw mergeConflict({ text, name, shellName: shellWord(name) }, (side) =>
        plain(parseEdited(Buffer.from(side), name, '')),
      );
    }
    value = JSON.parse(text);
  } catch (error) {
    throw error instanceof UserError ? error : damaged('it is invalid or truncated JSON', error);
  }
  const mark = movedMark().safeParse(value);
  if (mark.success) throw new MovedState(name, mark.data);
  if (isObject(value) && typeof value.format_version === 'number' && value.format_version > SEALED_FORMAT_VERSION) {
    const writer = typeof value.voxform_version === 'string' ? ` by voxform ${value.voxform_version}` : '';
    throw new UserError(
      `the state ${name} was written${writer} in format ${value.format_version}; this version of voxform reads formats up to ${SEALED_FORMAT_VERSION}`,
      { hint: 'Upgrade voxform.' },
    );
  }
  const misplaced = misplacedKey(text);
  if (misplaced !== undefined) {
    throw new LostState(`the state ${name} is damaged: ${clauseOf(misplaced)}`, {
      hint: advice`If you edited it, fix or undo that edit. Otherwise: ${hint}`,
    });
  }
  if (isDeeperThan(value, DEEPEST)) throw damaged('it is nested too deeply');
  const parsed = writtenDocument().safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const place = issue === undefined || issue.path.length === 0 ? 'the top level' : issue.path.join(' > ');
  throw damaged(`at ${place}: ${issue?.message ?? 'unexpected content'}`);
}

function plain(document: StoredDocument): StateDocument {
  if (isSealed(document)) throw new UserError('the state is sealed');
  return document;
}

function clauseOf({ key, line, problem }: MisplacedKey): string {
  return problem === 'twice'
    ? `line ${line} repeats the key ${JSON.stringify(key)}, and one of the two would be lost`
    : `line ${line} has the key ${JSON.stringify(key)}, whose content would be lost`;
}

/**
 * The number of bytes that are parsed at once: few compared to a large state, and enough for V8 to allocate the result in the old
 * generation.
 */
const PART = 256 * 1024;

/* The text around resources in the layout of `stateBytes`. Strings in JSON hold no line break, so these occur only between values. */
const OPENING = '\n  "resources": {\n';
const ENTRY_END = '\n    }';
const BETWEEN = `${ENTRY_END},\n`;
const CLOSING = `${ENTRY_END}\n  }`;

type WrittenState = Immutable<z.infer<ReturnType<typeof stateDocument>>>;

/**
 * Parses the output of `stateBytes` in parts, so that a large state is never in memory as text. Undefined for another layout or invalid
 * bytes: parsing them as a whole gives the error.
 * @param deepest maximum nesting of arrays and objects.
 */
export function parseInParts(bytes: Uint8Array, deepest: number): WrittenState | undefined {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const opening = all.indexOf(OPENING);
  if (opening === -1 || !isUtf8(all)) return undefined;
  const resources: Record<string, ResourceEntry> = {};
  let at = opening + OPENING.length;
  const before = all.toString('utf8', 0, at);
  for (let isLast = false; !isLast; ) {
    const between = all.indexOf(BETWEEN, at + PART);
    isLast = between === -1;
    const end = isLast ? all.indexOf(CLOSING, at) : between;
    if (end === -1) return undefined;
    const entries = entriesIn(`{${all.toString('utf8', at, end + ENTRY_END.length)}}`, deepest - 1);
    if (entries === undefined) return undefined;
    for (const [address, entry] of entries) {
      if (Object.hasOwn(resources, address)) return undefined;
      setOwn(resources, address, entry);
    }
    at = end + BETWEEN.length;
  }
  // The last entry has no comma after it.
  const document = documentAround(before, all.toString('utf8', at - 1), deepest);
  return document && { ...document, resources };
}

function entriesIn(text: string, deepest: number): [address: string, entry: ResourceEntry][] | undefined {
  const value = parsedJson(text);
  if (!isObject(value) || isDeeperThan(value, deepest) || misplacedKey(text, 1) !== undefined) return undefined;
  const entries: [string, ResourceEntry][] = [];
  for (const [address, entry] of Object.entries(value)) {
    const read = resourceEntry().safeParse(entry);
    if (!read.success) return undefined;
    entries.push([address, read.data]);
  }
  return entries;
}

/** The document without its resources. */
function documentAround(before: string, after: string, deepest: number): WrittenState | undefined {
  // Otherwise the resources are deeper, and are not those of the document.
  if (parsedJson(`${before}}}`) === undefined) return undefined;
  const text = before + after;
  const value = parsedJson(text);
  if (!isObject(value) || isDeeperThan(value, deepest) || misplacedKey(text) !== undefined) return undefined;
  const read = stateDocument().safeParse(value);
  return read.success ? read.data : undefined;
}

/** Deeper objects are values of records, which may have any key. */
const ENTRY_LEVELS = 4;

/** A key whose value, or that of its duplicate, JSON.parse would drop silently. */
interface MisplacedKey {
  readonly key: string;
  /** Starts at 1. */
  readonly line: number;
  readonly problem: 'twice' | 'reserved';
}

/**
 * The first key of a JSON text that its object has twice, or that is `__proto__` among the state's own entries. The text must be JSON. Adds
 * a quarter to the time of reading a state.
 * @param levels objects of the state around the text.
 */
export function misplacedKey(text: string, levels = 0): MisplacedKey | undefined {
  /** The keys so far of each open object; undefined for an array. */
  const open: (Set<string> | undefined)[] = [];
  let isKeyNext = false;
  for (let at = 0; at < text.length; at++) {
    switch (text[at]) {
      case '"': {
        const end = endOfString(text, at);
        const keys = open.at(-1);
        if (isKeyNext && keys !== undefined) {
          const key = keyBetween(text, at, end);
          const isReserved = key === '__proto__' && open.length + levels <= ENTRY_LEVELS;
          if (isReserved || keys.has(key)) {
            return {
              key,
              line: text.slice(0, at).split('\n').length,
              problem: isReserved ? 'reserved' : 'twice',
            };
          }
          keys.add(key);
        }
        isKeyNext = false;
        at = end;
        break;
      }
      case ',':
        isKeyNext = open.at(-1) !== undefined;
        break;
      case '{':
        open.push(new Set());
        isKeyNext = true;
        break;
      case '[':
        open.push(undefined);
        isKeyNext = false;
        break;
      case '}':
      case ']':
        open.pop();
        isKeyNext = false;
        break;
      default:
    }
  }
  return undefined;
}

/** Position of the quote that ends the string which begins at `start`. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end;
}

function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text[first - 1] === '\\') first -= 1;
  return (at - first) % 2 === 1;
}

function keyBetween(text: string, start: number, end: number): string {
  const written = text.slice(start + 1, end);
  return written.includes('\\') ? String(JSON.parse(`"${written}"`)) : written;
}
