import type { Style } from './style.ts';
import { breakText, displayWidth, pad, truncate, wrapWords } from './text-width.ts';
import { visible } from './visible.ts';

export interface Column {
  readonly title: string;
  readonly align?: 'left' | 'right';
  /** Never cut, whatever the width: an id or an address of which a part is worth nothing. */
  readonly whole?: boolean;
  /** Sentences: never cut, but wrapped, in their column or below the row. Only for the last column. */
  readonly prose?: boolean;
}

/** In columns: what parts two columns, and how far further lines of a row are in. */
const gap = 2;
const hang = 4;

/** In columns: what a cut one keeps at least, and what it asks for where it can have a line further down. */
const narrowest = 8;
const readable = 20;
/** In columns: sentences are not squeezed below this. */
const leastProse = 32;

/**
 * Rows under titles, columns aligned. Where a row is wider than the style, sentences are wrapped and the widest other columns are cut
 * with `…`; where that is not enough, each row takes several lines.
 */
export function renderTable(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  style: Style,
): string {
  const cells = rows.map((row) => columns.map((_, index) => visible(row[index] ?? '')));
  const { titles, line } = tableLayout(columns, cells, style);
  return `${[titles, ...cells.map(line)].join('\n')}\n`;
}

export interface TableLayout {
  readonly titles: string;
  /** A row, of one line or several. One that is wider than those before it widens its columns as far as there is room. */
  line(cells: readonly string[]): string;
}

/** Columns as wide as these rows need. Cells must have passed `visible`. */
export function tableLayout(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  style: Style,
): TableLayout {
  let widths = columns.map(({ title }, index) =>
    Math.max(displayWidth(title), ...rows.map((row) => displayWidth(row[index] ?? ''))),
  );
  let lines = inLines(sized(columns, widths), style.width);
  const row = (texts: readonly string[]): string =>
    lines
      .map((members, number) => lineOf(members, texts, number === 0 ? 0 : hang))
      .filter((text, number) => number === 0 || text.trim() !== '')
      .join('\n');
  return {
    titles: style.bold(row(columns.map(({ title }) => title))),
    line(texts) {
      const needed = widths.map((width, index) => Math.max(width, displayWidth(texts[index] ?? '')));
      if (needed.some((width, index) => width > (widths[index] ?? 0))) {
        widths = needed;
        lines = inLines(sized(columns, widths), style.width);
      }
      return row(texts);
    },
  };
}

interface SizedColumn extends Column {
  /** Its place in a row. */
  readonly index: number;
  readonly width: number;
  /** The width below which it is not made narrower. */
  readonly least: number;
}

function sized(columns: readonly Column[], widths: readonly number[]): SizedColumn[] {
  return columns.map((column, index) => {
    const { whole = false, prose = false } = column;
    const natural = widths[index] ?? 0;
    const least = Math.min(natural, prose ? leastProse : narrowest);
    return { ...column, index, width: natural, least: whole ? natural : least };
  });
}

function lineOf(members: readonly SizedColumn[], texts: readonly string[], margin: number): string {
  let start = margin;
  const parts = members.map(({ index, width, align = 'left', whole = false, prose = false }) => {
    const text = texts[index] ?? '';
    const indent = start;
    start += width + gap;
    if (prose) return wrapped(text, width, indent);
    return pad(whole ? text : truncate(text, width), width, align);
  });
  return (' '.repeat(margin) + parts.join(' '.repeat(gap))).trimEnd();
}

function wrapped(text: string, width: number, indent: number): string {
  const lines = wrapWords(text, width).flatMap((line) =>
    displayWidth(line) > width ? breakText(line, width) : [line],
  );
  return lines.map((line) => line.trimEnd()).join(`\n${' '.repeat(indent)}`);
}

/** All columns on one line where cutting makes them fit, else as many on each line as it takes. */
function inLines(columns: readonly SizedColumn[], width: number): SizedColumn[][] {
  const least = columns.reduce((sum, column) => sum + column.least + gap, -gap);
  if (least <= width) return [fitted(columns, width)];
  const lines: SizedColumn[][] = [];
  let room = 0;
  for (const column of columns) {
    const line = lines.at(-1);
    const wanted = column.whole || column.prose ? column.width : Math.min(column.width, readable);
    if (line === undefined || wanted + gap > room) {
      lines.push([column]);
      room = width - (line === undefined ? 0 : hang) - wanted;
    } else {
      line.push(column);
      room -= wanted + gap;
    }
  }
  return lines.map((line, number) =>
    fitted(
      line.map((column) => (column.prose ? { ...column, least: Math.min(column.width, narrowest) } : column)),
      width - (number === 0 ? 0 : hang),
    ),
  );
}

/** The columns made narrower until all fit, or until none can be cut further: sentences first, which lose nothing by it, then the widest. */
function fitted(columns: readonly SizedColumn[], room: number): SizedColumn[] {
  const fitting = [...columns];
  let excess = columns.reduce((sum, { width }) => sum + width + gap, -gap) - room;
  while (excess > 0) {
    const cuttable = fitting.flatMap((column, place) =>
      column.width > column.least ? [{ column, place }] : [],
    );
    const [widest, second] = cuttable.sort(
      (a, b) =>
        Number(b.column.prose ?? false) - Number(a.column.prose ?? false) ||
        b.column.width - a.column.width ||
        a.place - b.place,
    );
    if (widest === undefined) break;
    const { column, place } = widest;
    const floor = column.prose ? column.least : Math.max(column.least, (second?.column.width ?? 0) - 1);
    const cut = Math.min(excess, column.width - floor);
    fitting[place] = { ...column, width: column.width - cut };
    excess -= cut;
  }
  return fitting;
}
