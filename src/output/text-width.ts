import { eastAsianWidth } from 'get-east-asian-width';

const zeroWidth = /^[\p{M}\p{Cf}]$/u;
const colourCode = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g');

/** How many columns of a terminal the text fills. Colour codes count nothing. */
export function displayWidth(text: string): number {
  let width = 0;
  for (const character of text.replace(colourCode, '')) width += characterWidth(character);
  return width;
}

/** The text with spaces after it (or before it), so that it fills `width` columns; as it is where it already fills them. */
export function pad(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const spaces = ' '.repeat(Math.max(0, width - displayWidth(text)));
  return align === 'left' ? text + spaces : spaces + text;
}

/** The text, cut to `width` columns with `…` as the last one where it is longer. */
export function truncate(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  let kept = '';
  let used = 0;
  for (const character of text) {
    used += characterWidth(character);
    if (used > width - 1) break;
    kept += character;
  }
  return width < 1 ? '' : `${kept.trimEnd()}…`;
}

/**
 * The lines of a text whose words are kept whole: a line is wider than `width` only where it is one word. No line is made to begin
 * with `::`, which is a command to GitHub Actions.
 */
export function wrapWords(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  let used = 0;
  for (const [, blanks = '', word = ''] of text.matchAll(/( *)([^ ]+)/g)) {
    const wordWidth = displayWidth(word);
    if (line !== '' && used + blanks.length + wordWidth > width && !word.startsWith('::')) {
      lines.push(line);
      line = word;
      used = wordWidth;
    } else {
      const gap = line === '' ? '' : blanks;
      line += gap + word;
      used += gap.length + wordWidth;
    }
  }
  return [...lines, line];
}

/**
 * The lines of a text that none of is wider than `width`: words are kept whole where they fit, and blanks where they stand,
 * so that the lines put together are the text.
 */
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
