import { UNSAFE, unicodeEscape } from '../values/unsafe-text.ts';

const short: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** Returns the string on one line, with escapes for all characters that a terminal might interpret. */
export function escapeControls(text: string): string {
  return text.replace(UNSAFE, (character) => short[character] ?? unicodeEscape(character));
}

export function escapedLines(text: string): string[] {
  return text.split('\n').map(escapeControls);
}
