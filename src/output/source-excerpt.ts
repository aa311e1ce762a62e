import type { Diagnostic } from '../problems/diagnostic.ts';
import { escapeControls } from './escape-controls.ts';
import type { Style } from './style.ts';
import { displayWidth, truncate } from './text-width.ts';

interface ExcerptOptions {
  /** Returns the text of a diagnostic's file, if it can be read. */
  sourceOf(file: string): string | undefined;
  redact(text: string): string;
}

/** Returns the source line of a diagnostic with a caret; empty if there is none to print, or if the previous call had the position. */
export type Excerpt = (diagnostic: Diagnostic, style: Style) => string;

/** Creates a function that returns excerpts. If the diagnostics are sorted by file, each file is read once. */
export function createExcerpts({ sourceOf, redact }: ExcerptOptions): Excerpt {
  let open: { readonly file: string; readonly lines: readonly string[] } | undefined;
  let last = '';
  return ({ file, line, column, path }, style) => {
    const position = `${file}:${line}:${column}`;
    if (line === undefined || column === undefined || position === last) return '';
    last = position;
    if (open?.file !== file) open = { file, lines: sourceOf(file)?.split(/\r\n|\r|\n/) ?? [] };
    const text = open.lines[line - 1];
    if (text === undefined || text.trim() === '' || column > text.length + 1) return '';
    if (redact(text) !== text || mayContainKey(text, path)) return '';
    return withCaret({ text, line, column }, style);
  };
}

const keyName = /(key|token|secret|password|passwd|authorization|credentials?)["']?\s*$/i;
const keyField = new RegExp(`${keyName.source.slice(0, -1)}:(?!\\s*([{&*|>#]|$))`, 'i');
/** Matches the prefixes of well-known API keys, and passwords in URLs. */
const keyValue =
  /\b(sk|pk|rk|ghp|gho|ghs|glpat|xox[a-z]|AKIA|AIza|eyJ)[-_A-Za-z0-9.]{12,}|\bBearer\s+\S|:\/\/[^\s/@:]*:[^\s/@]+@/;

/** True for a line that may contain a key. The line is not printed, because other people may read the output. */
function mayContainKey(text: string, path = ''): boolean {
  return keyField.test(text) || keyValue.test(text) || (keyName.test(path) && !text.includes('$'));
}

/** The width that remains visible before the position in a long line. */
const WIDTH_BEFORE = 24;

/** Returns the line with a caret. The column starts at 1 and counts UTF-16 code units. */
function withCaret(
  { text, line, column }: { readonly text: string; readonly line: number; readonly column: number },
  { width, dim, error }: Style,
): string {
  const gutter = `${line} | `;
  const room = Math.max(20, width - gutter.length - 4);
  const from = firstShown(text, column - 1, room);
  const head = (from > text.search(/\S/) ? '…' : '') + shown(text.slice(from, column - 1));
  const whole = head + shown(text.slice(column - 1));
  const padding = ' '.repeat(gutter.length - 2);
  return [
    `  ${dim(gutter)}${truncate(whole, room)}`,
    `  ${dim(`${padding}| `)}${' '.repeat(displayWidth(head))}${error('^')}`,
  ].join('\n');
}

/** Returns the index where the excerpt begins: after the indentation, or near the position if it is far to the right. */
function firstShown(text: string, position: number, room: number): number {
  const indent = text.search(/\S/);
  if (displayWidth(shown(text.slice(indent, position))) <= room - WIDTH_BEFORE) return Math.min(indent, position);
  let from = position;
  let used = 0;
  while (from > 0 && used < WIDTH_BEFORE) {
    from--;
    used += displayWidth(shown(text.charAt(from)));
  }
  // Do not split a surrogate pair.
  return /[\udc00-\udfff]/.test(text.charAt(from)) ? from + 1 : from;
}

/** Replaces tabs with two spaces, and escapes characters that have no width or that a terminal might interpret. */
function shown(text: string): string {
  return escapeControls(text.replaceAll('\t', '  '));
}
