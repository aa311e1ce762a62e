/*
 * Text from manifests and from the platform is shown to a person's terminal. What could steer a terminal, forge a line or
 * reverse the reading order is shown as an escape instead: control characters, line separators, bidirectional
 * controls, halves of surrogate pairs, and characters without any width that hide a difference.
 */
const unsafe =
  /[\p{Cc}\p{Cs}\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]/gu;

const short: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** The text on one line, with everything that a terminal might act on written as an escape. */
export function visible(text: string): string {
  return text.replace(unsafe, (character) => short[character] ?? unicodeEscape(character));
}

/** The same, keeping line feeds. */
export function visibleLines(text: string): string[] {
  return text.split('\n').map(visible);
}

/** True where `escapeUnsafe` would change the text. */
export function isUnsafe(text: string): boolean {
  return escapeUnsafe(text) !== text;
}

/** The same in JSON that is laid out already: its line feeds stay, and it stays the same JSON. */
export function escapeUnsafe(json: string): string {
  return json.replace(unsafe, (character) => (character === '\n' ? character : unicodeEscape(character)));
}

/** By UTF-16 units, as JSON and JavaScript spell it. */
function unicodeEscape(character: string): string {
  let escaped = '';
  for (let index = 0; index < character.length; index++) {
    escaped += `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`;
  }
  return escaped;
}
