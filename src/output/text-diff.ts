import { structuredPatch } from 'diff';
import { visible, visibleLines } from './visible.ts';

export interface DiffLine {
  /** `@` marks the line that says where the following ones are. */
  readonly sign: '-' | '+' | ' ' | '@';
  /** Safe to show. */
  readonly text: string;
}

const contextLines = 2;
/** Beyond this many differing lines a minimal diff says no more than the two texts do, and takes long to find. */
const maxEdits = 1000;
/** In characters: a single line longer than this is shown around the place where it differs. */
const longLine = 200;
const aroundDifference = 60;

/** The lines in which two texts differ, with two lines around them. Empty where the texts are the same. */
export function diffTexts(before: string, after: string, { whole = false } = {}): DiffLine[] {
  if (before === after) return [];
  const patch = structuredPatch('', '', `${before}\n`, `${after}\n`, undefined, undefined, {
    context: contextLines,
    maxEditLength: maxEdits,
  });
  if (patch === undefined) {
    return [...signed('-', visibleLines(before)), ...signed('+', visibleLines(after))];
  }
  return patch.hunks.flatMap((hunk) => {
    const all = hunk.lines.map((line): DiffLine => ({ sign: signOf(line), text: line.slice(1) }));
    const start = all.findIndex((line) => !isBlank(line));
    const lines = all.slice(start, all.findLastIndex((line) => !isBlank(line)) + 1);
    const place: DiffLine[] =
      hunk.oldStart <= 1 && patch.hunks.length === 1
        ? []
        : [{ sign: '@', text: `line ${hunk.newStart + start}` }];
    return [
      ...place,
      ...(whole ? lines : shortened(lines)).map(({ sign, text }) => ({ sign, text: visible(text) })),
    ];
  });
}

/** Blank lines at the rim of what is shown tell nothing. */
function isBlank({ sign, text }: DiffLine): boolean {
  return sign === ' ' && text.trim() === '';
}

/** Where one long line became another, both without most of what they share. */
function shortened(lines: readonly DiffLine[]): readonly DiffLine[] {
  return lines.map((line, index) => {
    if (line.text.length <= longLine) return line;
    const next = lines[index + 1];
    const previous = lines[index - 1];
    const other =
      line.sign === '-' && next?.sign === '+'
        ? next
        : line.sign === '+' && previous?.sign === '-'
          ? previous
          : undefined;
    if (other !== undefined) return { sign: line.sign, text: aroundChange(line.text, other.text) };
    return line.sign === ' ' ? { sign: ' ', text: `${line.text.slice(0, longLine)}…` } : line;
  });
}

function aroundChange(text: string, other: string): string {
  const limit = Math.min(text.length, other.length);
  let start = 0;
  while (start < limit && text[start] === other[start]) start++;
  let end = 0;
  while (end < limit - start && text[text.length - 1 - end] === other[other.length - 1 - end]) end++;
  const from = Math.max(0, start - aroundDifference);
  const to = Math.min(text.length, text.length - end + aroundDifference);
  return `${from > 0 ? '…' : ''}${text.slice(from, to)}${to < text.length ? '…' : ''}`;
}

function signed(sign: '-' | '+', texts: readonly string[]): DiffLine[] {
  return texts.map((text) => ({ sign, text }));
}

function signOf(line: string): '-' | '+' | ' ' {
  return line.startsWith('-') ? '-' : line.startsWith('+') ? '+' : ' ';
}
