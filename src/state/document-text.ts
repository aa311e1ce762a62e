import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import type { z } from 'zod';
import { shellWord } from '../problems/shell-word.ts';
import { type Advice, advice, command, UserError } from '../problems/user-error.ts';
import { type Immutable, isDeeperThan, isObject, parsedJson, setOwn } from '../values/json.ts';
import { digestOf, isAsWritten, refuseTooLarge } from './document-bytes.ts';
import { hasConflict, mergeConflict } from './merge-conflict.ts';
import { type MisplacedKey, misplacedKey } from './misplaced-keys.ts';
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
