import { eastAsianWidth } from 'get-east-asian-width';

const zeroWidth = /^[\p{M}\p{Cf}]$/u;
const colorCode = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g');

/** Returns the width of a string in terminal columns. Ignores color codes. */
export function displayWidth(text: string): number {
  let width = 0;
  for (const character of text.replace(colorCode, '')) width += characterWidth(character);
  return width;
}

/** Pads a string with spaces to `width` columns. */
export function pad(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const spaces = ' '.repeat(Math.max(0, width - displayWidth(text)));
  return align === 'left' ? text + spaces : spaces + text;
}

/** Truncates a string to `width` columns, with `…` at the end. */
export function truncate(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  let result = '';
  let used = 0;
  for (const character of text) {
    used += characterWidth(character);
    if (used > width - 1) break;
    result += character;
  }
  return width < 1 ? '' : `${result.trimEnd()}…`;
}

/**
 * Wraps text between words. A line is wider than `width` only if it is a single word, or if it contains a word that starts with `::`. Such
 * a word never starts a line after the first, because GitHub Actions would run the line as a command.
 */
export function wrapWords(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  let used = 0;
  for (const [, gapText = '', word = ''] of text.matchAll(/( *)([^ ]+)/g)) {
    const wordWidth = displayWidth(word);
    if (line !== '' && used + gapText.length + wordWidth > width && !word.startsWith('::')) {
      lines.push(line);
      line = word;
      used = wordWidth;
    } else {
      const gap = line === '' ? '' : gapText;
      line += gap + word;
      used += gap.length + wordWidth;
    }
  }
  return [...lines, line];
}

/** Wraps text strictly: no line is wider than `width`, and concatenating the lines restores the text. */
export function breakText(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  let used = 0;
  for (const part of text.split(/(?<= )(?! )/)) {
    const partWidth = displayWidth(part);
    if (line !== '' && used + displayWidth(part.trimEnd()) > width) {
      lines.push(line);
      line = '';
      used = 0;
    }
    if (partWidth <= width) {
      line += part;
      used += partWidth;
      continue;
    }
    for (const character of part) {
      const size = characterWidth(character);
      if (used + size > width && line !== '') {
        lines.push(line);
        line = '';
        used = 0;
      }
      line += character;
      used += size;
    }
  }
  return [...lines, line];
}

function characterWidth(character: string): number {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x300) return 1;
  return zeroWidth.test(character) ? 0 : eastAsianWidth(code);
}
