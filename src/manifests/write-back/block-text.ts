import { needsNoEscapes } from './scalar-text.ts';

/** A value as text: the part on the line of its key or dash, and the lines below. */
export interface NewText {
  readonly head: string;
  readonly lines: readonly string[];
}

interface BlockLayout {
  readonly folded: boolean;
  /** Column of the key or dash that the text belongs to. */
  readonly column: number;
  /** Column that the text begins at. */
  readonly indent: number;
  /** Write the indentation into the header even if it is not needed. */
  readonly hasExplicitIndent?: boolean;
  /** Blank lines that already follow the text. */
  readonly blankAfter?: number;
  /** The previous lines of the text, without indentation. */
  readonly previous?: readonly string[];
}

/** A text as a literal or folded block; undefined if a block cannot represent it. */
export function blockText(value: string, layout: BlockLayout): NewText | undefined {
  const body = value.replace(/\n+$/, '');
  const newlines = value.length - body.length;
  if (body === '' || /(?:^|\n)[ \t]+$/.test(body) || !needsNoEscapes(value)) return undefined;
  const indentBy = layout.indent - layout.column;
  const needsIndent = layout.hasExplicitIndent === true || /^\n* /.test(body);
  if (indentBy < 1 || (needsIndent && indentBy > 9)) return undefined;
  const blank = newlines > 1 ? newlines - 1 - (layout.blankAfter ?? 0) : 0;
  if (blank < 0) return undefined;
  // Only if necessary: `+` would include later blank lines at the end.
  const chomping = newlines === 0 ? '-' : newlines > 1 ? '+' : '';
  const content = layout.folded ? foldedLines(body, layout.previous ?? []) : body.split('\n');
  const margin = ' '.repeat(layout.indent);
  return {
    head: `${layout.folded ? '>' : '|'}${needsIndent ? indentBy : ''}${chomping}`,
    lines: [...content.map((line) => (line === '' ? '' : margin + line)), ...Array.from({ length: blank }, () => '')],
  };
}

/** The lines of a folded block. Text that was wrapped before keeps its wrapping. */
function foldedLines(body: string, previous: readonly string[]): string[] {
  const known = paragraphsOf(previous);
  const isWrapped = [...known.values()].some((lines) => lines.length > 1);
  const width = isWrapped ? Math.max(40, ...previous.map(({ length }) => length)) : Number.POSITIVE_INFINITY;
  const result: string[] = [];
  let gap = 0;
  let last: string | undefined;
  for (const line of body.split('\n')) {
    if (line === '') {
      gap++;
      continue;
    }
    if (last !== undefined && isProse(last) && isProse(line)) gap++;
    for (; gap > 0; gap--) result.push('');
    result.push(...(isProse(line) ? (known.get(line) ?? wrapped(line, width)) : [line]));
    last = line;
  }
  return result;
}

/** Lines that begin with a blank are not folded. */
function isProse(line: string): boolean {
  return !/^[ \t]/.test(line);
}

/** The paragraphs of a folded text, with their wrapped lines. */
function paragraphsOf(lines: readonly string[]): Map<string, readonly string[]> {
  const paragraphs = new Map<string, readonly string[]>();
  let open: string[] = [];
  for (const line of [...lines, '']) {
    if (line !== '' && isProse(line)) open.push(line);
    else {
      if (open.length > 0) paragraphs.set(open.join(' '), open);
      open = [];
    }
  }
  return paragraphs;
}

function wrapped(line: string, width: number): string[] {
  if (line.length <= width) return [line];
  const lines: string[] = [];
  let current = '';
  // A line break stands for one blank only, so longer gaps stay inside a line.
  for (const word of line.split(/(?<=\S) (?=\S)/)) {
    if (current !== '' && current.length + 1 + word.length > width) {
      lines.push(current);
      current = word;
    } else current = current === '' ? word : `${current} ${word}`;
  }
  return [...lines, current];
}
