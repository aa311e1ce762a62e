import type { Style } from './style.ts';
import { displayWidth, pad, truncate } from './text-width.ts';
import { visible } from './visible.ts';

export interface Column {
  readonly title: string;
  readonly align?: 'left' | 'right';
  /** Never cut, whatever the width: an id or an address of which a part is worth nothing. */
  readonly whole?: boolean;
}

/** In columns: what parts two columns, and how far further lines of a row are in. */
const gap = 2;
const hang = 4;

/** In columns: what a cut one keeps at least, and what it asks for where it can have a line further down. */
const narrowest = 8;
const readable = 20;

/**
 * Rows under titles, columns aligned. Where a row is wider than the style, the widest columns are cut with `…`; where
 * that is not enough, each row takes several lines.
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
  /** A row with the widths of the layout, of one line or several; what does not fit is cut. */
  line(cells: readonly string[]): string;
}

/** Columns as wide as these rows need. Cells must have passed `visible`. */
export function tableLayout(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  style: Style,
): TableLayout {
  const sized = columns.map((column, index): SizedColumn => {
    const { title, whole = false } = column;
    const width = Math.max(displayWidth(title), ...rows.map((row) => displayWidth(row[index] ?? '')));
    return { ...column, index, width, least: whole ? width : Math.min(width, narrowest) };
  });
  const lines = inLines(sized, style.width);
  const line = (texts: readonly string[]) =>
    lines
      .map((members, number) => (number === 0 ? '' : ' '.repeat(hang)) + lineOf(members, texts))
      .filter((text, number) => number === 0 || text.trim() !== '')
      .join('\n');
  return { titles: style.bold(line(columns.map(({ title }) => title))), line };
}

interface SizedColumn extends Column {
  /** Its place in a row. */
  readonly index: number;
  readonly width: number;
  /** The width below which it is not cut. */
  readonly least: number;
}

function lineOf(members: readonly SizedColumn[], texts: readonly string[]): string {
  return members
    .map(({ index, width, align = 'left', whole = false }) => {
      const text = texts[index] ?? '';
      return pad(whole ? text : truncate(text, width), width, align);
    })
    .join(' '.repeat(gap))
    .trimEnd();
}

/** All columns on one line where cutting makes them fit, else as many on each line as it takes. */
function inLines(columns: readonly SizedColumn[], width: number): SizedColumn[][] {
  const least = columns.reduce((sum, column) => sum + column.least + gap, -gap);
  if (least <= width) return [fitted(columns, width)];
  const lines: SizedColumn[][] = [];
  let room = 0;
  for (const column of columns) {
    const line = lines.at(-1);
    const wanted = column.whole ? column.width : Math.min(column.width, readable);
    if (line === undefined || wanted + gap > room) {
      lines.push([column]);
      room = width - (line === undefined ? 0 : hang) - wanted;
    } else {
      line.push(column);
      room -= wanted + gap;
    }
  }
  return lines.map((line, number) => fitted(line, width - (number === 0 ? 0 : hang)));
}

/** The columns with the widest that may be cut made narrower until all fit, or until none can be cut further. */
function fitted(columns: readonly SizedColumn[], room: number): SizedColumn[] {
  const fitting = [...columns];
  let excess = columns.reduce((sum, { width }) => sum + width + gap, -gap) - room;
  while (excess > 0) {
    const cuttable = fitting.flatMap((column, place) =>
      column.width > column.least ? [{ column, place }] : [],
    );
    const [widest, second] = cuttable.sort((a, b) => b.column.width - a.column.width || a.place - b.place);
    if (widest === undefined) break;
    const { column, place } = widest;
    const cut = Math.min(
      excess,
      column.width - Math.max(column.least, (second?.column.width ?? column.least) - 1),
    );
    fitting[place] = { ...column, width: column.width - cut };
    excess -= cut;
  }
  return fitting;
}
