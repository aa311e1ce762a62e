/*
 * Text from manifests and from the platform is shown to a person's terminal. What could steer a terminal, forge a line or
 * reverse the reading order is shown as an escape instead: control characters, line separators, bidirectional
 * controls, halves of surrogate pairs, and characters without any width that hide a difference.
 */
const unsafe = /[\p{Cc}\p{Cs}\u061c\u200b\u2028-\u202e\u2066-\u2069\ufeff]/gu;

const short: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** The text on one line, with everything that a terminal might act on written as an escape. */
export function visible(text: string): string {
  return text.replace(unsafe, (character) => short[character] ?? unicodeEscape(character));
}

/** The same, keeping line feeds. */
export function visibleLines(text: string): string[] {
  return text.split('\n').map(visible);
}

function unicodeEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
