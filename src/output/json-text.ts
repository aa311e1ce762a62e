import { isObject, type Json } from '../values/json.ts';
import { escapeUnsafe } from '../values/unsafe-text.ts';

/**
 * Returns a document as JSON with an indentation of two spaces, a final newline, and the keys in the order of the document. Characters that
 * a terminal might interpret are escaped, which does not change any value.
 */
export function jsonText(document: object): string {
  return `${escapeUnsafe(JSON.stringify(document, undefined, 2))}\n`;
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
