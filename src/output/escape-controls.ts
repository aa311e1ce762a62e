import { UNSAFE, unicodeEscape } from '../values/unsafe-text.ts';

const short: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** The text on one line, with escapes for everything that a terminal might interpret. */
export function escapeControls(text: string): string {
  return text.replace(UNSAFE, (character) => short[character] ?? unicodeEscape(character));
}

/** The same, but keeps line feeds. */
export function escapedLines(text: string): string[] {
  return text.split('\n').map(escapeControls);
}
