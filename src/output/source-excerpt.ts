import type { Diagnostic } from '../problems/diagnostic.ts';
import { escapeControls } from './escape-controls.ts';
import type { Style } from './style.ts';
import { displayWidth, truncate } from './text-width.ts';

/** Gives the text of a diagnostic's file; undefined where it cannot be read. */
type SourceOf = (file: string) => string | undefined;

interface ExcerptOptions {
  readonly sourceOf: SourceOf;
  /** Strikes known secrets out. */
  redact(text: string): string;
}

/** The line that a diagnostic is about, with a caret under its column; empty where there is nothing to show, or the same as just before. */
export type Excerpt = (diagnostic: Diagnostic, style: Style) => string;

/** Reads each file once, as long as the diagnostics come file by file. */
export function createExcerpts({ sourceOf, redact }: ExcerptOptions): Excerpt {
  let open: { readonly file: string; readonly lines: readonly string[] } | undefined;
  let last = '';
  return ({ file, line, column, path }, style) => {
    const place = `${file}:${line}:${column}`;
    if (line === undefined || column === undefined || place === last) return '';
    last = place;
    if (open?.file !== file) open = { file, lines: sourceOf(file)?.split(/\r\n|\r|\n/) ?? [] };
    const text = open.lines[line - 1];
    if (text === undefined || text.trim() === '' || column > text.length + 1) return '';
    if (redact(text) !== text || mayHoldKey(text, path)) return '';
    return withCaret({ text, line, column }, style);
  };
}

const keyName = /(key|token|secret|password|passwd|authorization|credentials?)["']?\s*$/i;
const keyField = new RegExp(`${keyName.source.slice(0, -1)}:(?!\\s*([{&*|>#]|$))`, 'i');
/** How providers begin their keys, and passwords in addresses. */
const keyValue =
  /\b(sk|pk|rk|ghp|gho|ghs|glpat|xox[a-z]|AKIA|AIza|eyJ)[-_A-Za-z0-9.]{12,}|\bBearer\s+\S|:\/\/[^\s/@:]*:[^\s/@]+@/;

/** True for a line that may spell out a key that belongs into a secret. A person may be sharing the screen. */
function mayHoldKey(text: string, path = ''): boolean {
  return keyField.test(text) || keyValue.test(text) || (keyName.test(path) && !text.includes('$'));
}

interface ExcerptPlace {
  readonly text: string;
  readonly line: number;
  /** From 1, in UTF-16 units. */
  readonly column: number;
}

/** In columns: what stays to be seen before the place where a long line is cut at its beginning. */
const before = 24;

function withCaret({ text, line, column }: ExcerptPlace, { width, dim, error }: Style): string {
  const gutter = `${line} | `;
  const room = Math.max(20, width - gutter.length - 4);
  const from = firstShown(text, column - 1, room);
  const head = (from > text.search(/\S/) ? '…' : '') + shown(text.slice(from, column - 1));
  const whole = head + shown(text.slice(column - 1));
  const blank = ' '.repeat(gutter.length - 2);
  return [
    `  ${dim(gutter)}${truncate(whole, room)}`,
    `  ${dim(`${blank}| `)}${' '.repeat(displayWidth(head))}${error('^')}`,
  ].join('\n');
}

/** Where the excerpt begins: at the line's first text, or near the place where that is too far to the right. */
function firstShown(text: string, place: number, room: number): number {
  const indent = text.search(/\S/);
  if (displayWidth(shown(text.slice(indent, place))) <= room - before) return Math.min(indent, place);
  let from = place;
  let used = 0;
  while (from > 0 && used < before) {
    from--;
    used += displayWidth(shown(text.charAt(from)));
  }
  // Not between the halves of a pair.
  return /[\udc00-\udfff]/.test(text.charAt(from)) ? from + 1 : from;
}

/** A tab as two blanks, and everything else that has no width or steers a terminal as an escape. */
function shown(text: string): string {
  return escapeControls(text.replaceAll('\t', '  '));
}
