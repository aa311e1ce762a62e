import { UNSAFE, unicodeEscape } from '../values/unsafe-text.ts';

const short: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** The text on one line, with everything that a terminal might act on written as an escape. */
export function escapeControls(text: string): string {
  return text.replace(UNSAFE, (character) => short[character] ?? unicodeEscape(character));
}

/** The same, keeping line feeds. */
export function escapedLines(text: string): string[] {
  return text.split('\n').map(escapeControls);
}
