import { escapeUnsafe } from '../values/unsafe-text.ts';

/**
 * A document as JSON for people and programs: two spaces, a final newline, the keys in the document's own order. What a
 * terminal might act on is escaped, which changes no value.
 */
export function jsonText(document: object): string {
  return `${escapeUnsafe(JSON.stringify(document, undefined, 2))}\n`;
}
