/**
 * Characters that could control a terminal, forge a line, reverse the reading order or hide a difference: control characters, line
 * separators, bidirectional controls, unpaired surrogates, and zero-width characters.
 */
export const UNSAFE =
  /[\p{Cc}\p{Cs}\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]/gu;

/** Does not match line feeds, which are safe here. A lookahead in place of the subtraction takes five times as long. */
const UNSAFE_WITHIN_LINES = new RegExp(`[${UNSAFE.source}--\\n]`, 'gv');

/** True if `escapeUnsafe` would change the text. */
export function isUnsafe(text: string): boolean {
  return escapeUnsafe(text) !== text;
}

/** Escapes unsafe characters in formatted JSON or YAML. The line feeds and the parsed value stay the same. */
export function escapeUnsafe(json: string): string {
  return json.replace(UNSAFE_WITHIN_LINES, unicodeEscape);
}

/** Disables Markdown links. VS Code renders messages as Markdown, and a link can run a command of the editor. */
export function withoutLinks(text: string): string {
  return text.replaceAll('](', '] (');
}

/** Returns a character as `\u` escapes of its UTF-16 units, as in JSON and JavaScript. */
export function unicodeEscape(character: string): string {
  let escaped = '';
  for (let index = 0; index < character.length; index++) {
    escaped += `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`;
  }
  return escaped;
}
