import { createHash, hash } from 'node:crypto';
import { compareText } from '../problems/compare-text.ts';
import { shellWord } from '../problems/shell-word.ts';
import { type Advice, advice, command, UserError } from '../problems/user-error.ts';
import {
  isDeeperThan,
  isObject,
  type Json,
  type JsonObject,
  setOwn,
  sortKeys,
  withoutUndefined,
} from '../values/json.ts';
import { hasConflict, mergeConflict } from './merge-conflict.ts';
import {
  isSealed,
  SEALED_FORMAT_VERSION,
  STATE_FORMAT_VERSION,
  type StateDocument,
  type StoredDocument,
  type WrittenDocument,
  writtenDocument,
} from './state-document.ts';
import { LostState, MovedState, movedMark } from './state-errors.ts';

/** The maximum size of a state in bytes. The maximum length of a string in Node is only slightly higher. */
export const MAX_STATE_BYTES = 512_000_000;

/* The text around the digest, which is the last key of the document. A JSON string cannot contain this text, because of its line breaks. */
const BEFORE_DIGEST = ',\n  "write_digest": ';
const AFTER_DIGEST = '\n}\n';
const DIGEST = 'sha256:';
const END_LENGTH = BEFORE_DIGEST.length + `"${DIGEST}"`.length + 64 + AFTER_DIGEST.length;

/** Returns the document as JSON with sorted keys, indented by two spaces. The last key is the digest of all bytes before it. */
export function stateBytes(document: StoredDocument): Buffer {
  let length = 0;
  for (const part of contentParts(document)) length += Buffer.byteLength(part);
  refuseTooLarge(length + END_LENGTH);
  const bytes = Buffer.allocUnsafe(length + END_LENGTH);
  let written = 0;
  for (const part of contentParts(document)) written += bytes.write(part, written);
  bytes.write(endAfter([bytes.subarray(0, length)]), length);
  return bytes;
}

/** Returns the digest that `stateBytes` writes for the document. */
export function digestOf(document: StoredDocument): string {
  return digestAfter(contentParts(document));
}

/** True if the digest at the end matches the bytes before it. A reformatted document fails this check even if its content is intact. */
function isAsWritten(bytes: Uint8Array): boolean {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = all.lastIndexOf(BEFORE_DIGEST);
  return end !== -1 && all.toString('latin1', end) === endAfter([all.subarray(0, end)]);
}

function refuseTooLarge(bytes: number): void {
  if (bytes <= MAX_STATE_BYTES) return;
  throw new UserError(`the state is larger than ${MAX_STATE_BYTES / 1_000_000} MB`, {
    hint: 'Split the workspace: release some of its resources, and import them into another project.',
  });
}

/** Yields the text before the digest in parts, because the whole text would take as much memory as the bytes. */
function* contentParts(document: StoredDocument): Generator<string> {
  let separator = '{\n  ';
  for (const [key, value] of sortedEntries(withoutUndefined(document) as unknown as JsonObject)) {
    yield `${separator}${JSON.stringify(key)}: `;
    separator = ',\n  ';
    const entries = key === 'resources' ? sortedEntries(value as JsonObject) : [];
    for (const [index, [address, entry]] of entries.entries()) {
      yield `${index === 0 ? '{' : ','}\n    ${JSON.stringify(address)}: ${indentedJson(entry, 2)}`;
    }
    yield entries.length === 0 ? indentedJson(value, 1) : '\n  }';
  }
}

function sortedEntries(object: JsonObject): [key: string, value: Json][] {
  return Object.entries(object).sort(([a], [b]) => compareText(a, b));
}

/** @param depth the number of objects around the value. */
function indentedJson(value: Json, depth: number): string {
  return JSON.stringify(sortKeys(value), null, 2).replaceAll('\n', `\n${'  '.repeat(depth)}`);
}

function endAfter(content: Iterable<string | Uint8Array>): string {
  return `${BEFORE_DIGEST}${JSON.stringify(digestAfter(content))}${AFTER_DIGEST}`;
}

function digestAfter(content: Iterable<string | Uint8Array>): string {
  const digest = createHash('sha256');
  for (const part of content) digest.update(part);
  return `${DIGEST}${digest.digest('hex')}`;
}

/** The maximum nesting depth. Manifests are never nested this deeply, and the depth is safe for recursive functions. */
const MAX_DEPTH = 500;

/**
 * Parses the output of `stateBytes`.
 * @param name the name of the state in messages, e.g. its path.
 * @param hint explains how to restore a damaged state.
 * @throws LostState if the state is damaged, or does not match its digest.
 * @throws MovedState if the bytes are the mark of a moved state.
 * @throws UserError if a newer voxform wrote the state.
 */
export function parseState(bytes: Uint8Array, name: string, hint: Advice): StoredDocument {
  refuseTooLarge(bytes.length);
  const isIntact = isAsWritten(bytes);
  const written = parseWritten(bytes, name, hint, isIntact);
  const document = withoutDigest(written);
  if (written.format_version === 1 || isIntact || written.write_digest === digestOf(document)) {
    return document;
  }
  throw new LostState(`the state ${name} was edited or damaged: its content does not match its digest`, {
    hint: advice`To keep an edit: ${command(`state push --force ${shellWord(name)}`)}. ${hint}`,
  });
}

/** Returns a variant of `parseState` for repeated reads, which returns the last document again if the bytes are unchanged. */
export function createCachingParser(): typeof parseState {
  let last: { readonly digest: string; readonly document: StoredDocument } | undefined;
  return (bytes, name, hint) => {
    const digest = hash('sha256', bytes);
    if (last?.digest !== digest) last = { digest, document: parseState(bytes, name, hint) };
    return last.document;
  };
}

/** Like `parseState`, but does not check the digest: the document may have been edited. */
export function parseEdited(bytes: Uint8Array, name: string, hint: Advice): StoredDocument {
  return withoutDigest(parseWritten(bytes, name, hint));
}

function withoutDigest(written: WrittenDocument): StoredDocument {
  if (written.format_version === 1) return { ...written, format_version: STATE_FORMAT_VERSION, write: '' };
  const { write_digest: _, ...document } = written;
  return document;
}

/** @param isIntact whether the bytes are unchanged output of `stateBytes`, which needs fewer checks and less memory. */
function parseWritten(bytes: Uint8Array, name: string, hint: Advice, isIntact = false): WrittenDocument {
  const damaged = (reason: string, cause?: unknown): LostState =>
    new LostState(`the state ${name} is damaged: ${reason}`, { hint, cause });
  if (bytes.length === 0) throw damaged('it is empty');
  refuseTooLarge(bytes.length);
  let value: unknown;
  let text: string | undefined;
  try {
    if (isIntact) {
      value = parseByEntry(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    } else {
      text = strictUtf8.decode(bytes);
      if (hasConflict(text)) {
        throw mergeConflict({ text, name, shellName: shellWord(name) }, (side) =>
          plain(parseEdited(Buffer.from(side), name, '')),
        );
      }
      value = JSON.parse(text);
    }
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
  const misplaced = text === undefined ? undefined : findMisplacedKey(text);
  if (misplaced !== undefined) {
    throw new LostState(`the state ${name} is damaged: ${describeKey(misplaced)}`, {
      hint: advice`If you edited the state, fix or undo that edit. Otherwise: ${hint}`,
    });
  }
  if (isDeeperThan(value, MAX_DEPTH)) throw damaged('it is nested too deeply');
  const parsed = writtenDocument().safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const location = issue === undefined || issue.path.length === 0 ? 'the top level' : issue.path.join(' > ');
  throw damaged(`at ${location}: ${issue?.message ?? 'unexpected content'}`);
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true });

/* The text around the entries of `resources`, in the output of `stateBytes`. */
const BEFORE_ENTRIES = Buffer.from('\n  "resources": {\n');
const BETWEEN_ENTRIES = Buffer.from('\n    },\n');
const AFTER_ENTRIES = Buffer.from('\n  }');

/** Parses output of `stateBytes` entry by entry, because the text of the whole document would take as much memory as the bytes. */
function parseByEntry(bytes: Buffer): unknown {
  const start = bytes.indexOf(BEFORE_ENTRIES) + BEFORE_ENTRIES.length;
  const end = bytes.indexOf(AFTER_ENTRIES, start);
  if (start < BEFORE_ENTRIES.length || end === -1) return JSON.parse(strictUtf8.decode(bytes));
  const resources: Record<string, unknown> = {};
  for (let at = start; at < end; ) {
    const next = bytes.indexOf(BETWEEN_ENTRIES, at);
    const stop = next === -1 || next > end ? end : next + BETWEEN_ENTRIES.indexOf(',');
    const entry = JSON.parse(`{${strictUtf8.decode(bytes.subarray(at, stop))}}`) as Record<string, unknown>;
    for (const [address, fields] of Object.entries(entry)) setOwn(resources, address, fields);
    at = stop + ',\n'.length;
  }
  const rest = [bytes.subarray(0, start - '\n'.length), bytes.subarray(end + AFTER_ENTRIES.indexOf('}'))];
  return { ...JSON.parse(rest.map((part) => strictUtf8.decode(part)).join('')), resources };
}

function plain(document: StoredDocument): StateDocument {
  if (isSealed(document)) throw new UserError('the state is sealed');
  return document;
}

function describeKey({ key, line, problem }: MisplacedKey): string {
  return problem === 'twice'
    ? `line ${line} repeats the key ${JSON.stringify(key)}, so one of the two values would be lost`
    : `line ${line} has the key ${JSON.stringify(key)}, whose value would be lost`;
}

/** The number of outer levels whose keys are checked for `__proto__`. Deeper objects are field values, which may have any key. */
const ENTRY_LEVELS = 4;

/** A duplicate or reserved key. Parsing the text would silently drop a value of the key. */
interface MisplacedKey {
  readonly key: string;
  /** Starts at 1. */
  readonly line: number;
  readonly problem: 'twice' | 'reserved';
}

/** Returns the first key of valid JSON that is a duplicate, or `__proto__` in the outer `ENTRY_LEVELS`. Costs 25 % of a read. */
export function findMisplacedKey(text: string): MisplacedKey | undefined {
  /** The keys found so far in each open object; undefined for an open array. */
  const openScopes: (Set<string> | undefined)[] = [];
  let isKeyNext = false;
  for (let at = 0; at < text.length; at++) {
    switch (text[at]) {
      case '"': {
        const end = endOfString(text, at);
        const keys = openScopes.at(-1);
        if (isKeyNext && keys !== undefined) {
          const key = keyBetween(text, at, end);
          const isReserved = key === '__proto__' && openScopes.length <= ENTRY_LEVELS;
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
        isKeyNext = openScopes.at(-1) !== undefined;
        break;
      case '{':
        openScopes.push(new Set());
        isKeyNext = true;
        break;
      case '[':
        openScopes.push(undefined);
        isKeyNext = false;
        break;
      case '}':
      case ']':
        openScopes.pop();
        isKeyNext = false;
        break;
      default:
    }
  }
  return undefined;
}

/** Returns the position of the quote that ends the string starting at `start`. */
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
  const escaped = text.slice(start + 1, end);
  return escaped.includes('\\') ? String(JSON.parse(`"${escaped}"`)) : escaped;
}
