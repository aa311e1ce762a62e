import { isObject, type Json } from '../values/json.ts';
import { escapeUnsafe } from '../values/unsafe-text.ts';

/**
 * A document as JSON: two spaces, a final newline, keys in the document's order. Characters that a terminal might interpret are escaped,
 * which changes no value.
 */
export function jsonText(document: object): string {
  return `${escapeUnsafe(JSON.stringify(document, undefined, 2))}\n`;
}

/** A document with field names in snake_case: `checked_at` for `checkedAt`. Kinds as keys stay as they are. */
export function snakeCased(document: object): Json & object {
  return renamed(JSON.parse(JSON.stringify(document)) as Json) as Json & object;
}

function renamed(value: Json): Json {
  if (Array.isArray(value)) return value.map(renamed);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [spelled(name), renamed(part as Json)]));
}

function spelled(name: string): string {
  return /^[A-Z]/.test(name) ? name : name.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
