import { createHash } from 'node:crypto';
import { type Json, setOwn, sortKeys } from '../values/json.ts';
import type { StateDocument } from './state-document.ts';

/** Resources made into text at once: one text can hold half a gigabyte, and a state may have more. */
const BATCH = 64;

/** Characters from which on text is written. */
const PIECE = 256 * 1024;

/* The last key of the document, so that its value can be made while the rest is written. No text in JSON holds a line break. */
const BEFORE_DIGEST = ',\n  "write_digest": ';
const AFTER_DIGEST = '\n}\n';

/**
 * The document as it is written, in pieces: sorted keys, two spaces, a final newline, and the digest of everything before it.
 * @param batch entries of an object or a list that are made into text at once.
 */
export function* statePieces(document: StateDocument, batch = BATCH): Generator<Buffer> {
  const hash = createHash('sha256');
  let text = '';
  for (const some of contentOf(document, batch)) {
    text += some;
    if (text.length < PIECE) continue;
    hash.update(text);
    yield Buffer.from(text);
    text = '';
  }
  const digest = textOf(hash.update(text).digest('hex'));
  yield Buffer.from(`${text}${BEFORE_DIGEST}${JSON.stringify(digest)}${AFTER_DIGEST}`);
}

/** The digest that the document has when it is written. */
export function digestOf(document: StateDocument): string {
  const hash = createHash('sha256');
  for (const text of contentOf(document, BATCH)) hash.update(text);
  return textOf(hash.digest('hex'));
}

/** True where the bytes are those of `statePieces`, to the last one. Where they are laid out otherwise, their content may still be right. */
export function isAsWritten(bytes: Uint8Array): boolean {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = all.lastIndexOf(BEFORE_DIGEST);
  if (end === -1) return false;
  const digest = createHash('sha256').update(all.subarray(0, end)).digest('hex');
  const rest = `${BEFORE_DIGEST}${JSON.stringify(textOf(digest))}${AFTER_DIGEST}`;
  return all.subarray(end).equals(Buffer.from(rest));
}

function textOf(digest: string): string {
  return `sha256:${digest}`;
}

function* contentOf(document: StateDocument, batch: number): Generator<string> {
  let before = '{\n  ';
  for (const [key, value] of Object.entries(document).sort(([a], [b]) => (a < b ? -1 : 1))) {
    yield `${before}${JSON.stringify(key)}: `;
    if (typeof value === 'object') yield* sectionOf(value as Json, batch);
    else yield JSON.stringify(value);
    before = ',\n  ';
  }
}

/** An object or a list of the document's first level, some entries at a time. */
function* sectionOf(section: Json, batch: number): Generator<string> {
  const isList = Array.isArray(section);
  const entries: readonly [key: string, entry: Json][] = Object.entries(section as Record<string, Json>);
  const [open, close] = isList ? ['[', ']'] : ['{', '}'];
  if (entries.length === 0) return yield `${open}${close}`;
  const sorted = isList ? entries : entries.toSorted(([a], [b]) => (a < b ? -1 : 1));
  for (let at = 0; at < sorted.length; at += batch) {
    const some = sorted.slice(at, at + batch);
    // Set in one level more than they are made in, without the brackets.
    const text = JSON.stringify(
      [isList ? some.map(([, entry]) => sortKeys(entry)) : objectOf(some)],
      null,
      2,
    );
    yield `${at === 0 ? open : ','}${text.slice('[\n  ['.length, -'\n  ]\n]'.length)}`;
  }
  yield `\n  ${close}`;
}

function objectOf(entries: readonly [key: string, entry: Json][]): Json {
  const object: Record<string, Json> = {};
  for (const [key, entry] of entries) setOwn(object, key, sortKeys(entry));
  return object;
}
