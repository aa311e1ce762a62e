import { isObject, type Json } from '../values/json.ts';
import { escapeUnsafe } from '../values/unsafe-text.ts';

/**
 * Returns a document as JSON with an indentation of two spaces, a final newline, and the keys in the order of the document. Characters that
 * a terminal might interpret are escaped, which does not change any value.
 */
export function jsonText(document: object): string {
  return [...jsonParts(document)].join('');
}

/** The minimum length of a part, in characters. */
const PART_LENGTH = 1_000_000;

/**
 * Returns the text of `jsonText` in parts of whole lines. `JSON.stringify` takes ten times as long for a text of 50 MB as for its parts, and
 * a reader can take the first part while the next one is formatted.
 */
export function* jsonParts(document: object): Generator<string> {
  let part = '';
  for (const text of Array.isArray(document) ? listParts(document, 1) : objectParts(document)) {
    part += text;
    if (part.length < PART_LENGTH || !text.endsWith('\n')) continue;
    yield part;
    part = '';
  }
  yield `${part}\n`;
}

function* objectParts(document: object): Generator<string> {
  const fields = Object.entries(document).filter(([, value]) => value !== undefined);
  for (const [index, [key, value]] of fields.entries()) {
    yield index === 0 ? '{\n' : ',\n';
    if (Array.isArray(value)) {
      yield `  ${escapeUnsafe(JSON.stringify(key))}: `;
      yield* listParts(value, 2);
    } else yield within({ [key]: value }, 1);
  }
  yield fields.length === 0 ? '{}' : '\n}';
}

/** @param depth the number of brackets around the items: 1 for a list on its own, 2 for a list in a field. */
function* listParts(list: readonly unknown[], depth: 1 | 2): Generator<string> {
  for (const [index, item] of list.entries()) {
    yield index === 0 ? '[\n' : ',\n';
    yield within(depth === 1 ? [item] : [[item]], depth);
  }
  yield list.length === 0 ? '[]' : `\n${' '.repeat(2 * (depth - 1))}]`;
}

/** Returns the text inside one or two brackets. It keeps its indentation. */
function within(outer: object, depth: 1 | 2): string {
  // The lines of the brackets: `[` and `  [`.
  const margin = depth === 1 ? 2 : 6;
  return escapeUnsafe(JSON.stringify(outer, undefined, 2).slice(margin, -margin));
}

/** Converts field names to snake_case, such as `checkedAt` to `checked_at`. Keys with a capital initial, such as kinds, do not change. */
export function snakeCased(document: object): Json & object {
  return convertKeys(JSON.parse(JSON.stringify(document)) as Json) as Json & object;
}

function convertKeys(value: Json): Json {
  if (Array.isArray(value)) return value.map(convertKeys);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [snakeCase(name), convertKeys(part as Json)]));
}

function snakeCase(name: string): string {
  return /^[A-Z]/.test(name) ? name : name.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
