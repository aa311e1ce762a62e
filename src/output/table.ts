import { escapeControls } from './escape-controls.ts';
import type { Style } from './style.ts';
import { breakText, displayWidth, pad, wrapWords } from './text-width.ts';

export interface Column {
  readonly title: string;
  readonly align?: 'left' | 'right';
  /** True if cells are never wrapped, because a part of an id or an address is useless. */
  readonly noWrap?: boolean;
  /** True for a column of prose, which is wrapped before other columns. */
  readonly prose?: boolean;
  /** Present for a column that may be omitted so that the others fit on one line. The highest number is omitted first. */
  readonly dropOrder?: number;
}

/** Returns columns whose cells are never wrapped. */
export function noWrapColumns(...titles: readonly string[]): Column[] {
  return titles.map((title) => ({ title, noWrap: true }));
}

/** The space between cells, and the indentation of continuation lines of a row. */
const gap = 2;
const hang = 4;

/** The minimum width of a wrapped column, and its preferred width in a row of several lines. */
const MIN_WIDTH = 12;
const PREFERRED_WIDTH = 20;
/** The preferred width of a wrapped column while columns can be omitted. */
const SPACIOUS_WIDTH = 28;
/** The minimum width of a prose column. It grows to the longest word, but not for words wider than `MAX_WORD_WIDTH`. */
const MIN_PROSE_WIDTH = 32;
const MAX_WORD_WIDTH = 60;

/**
 * Returns a table with titles and aligned columns. If a row is too wide, columns with a `dropOrder` are omitted, then prose and the widest other
 * columns are wrapped, and finally each row is split into several lines. No cell is truncated.
 */
export function renderTable(
  titled: readonly (Column | string)[],
  rows: readonly (readonly string[])[],
  style: Style,
): string {
  const columns = titled.map((column) => (typeof column === 'string' ? { title: column } : column));
  const cells = rows.map((row) => columns.map((_, index) => escapeControls(row[index] ?? '')));
  const { titles, line } = tableLayout(columns, cells, style);
  return `${[titles, ...cells.map(line)].join('\n')}\n`;
}

export function renderIndented(
  columns: readonly (Column | string)[],
  rows: readonly (readonly string[])[],
  { style, indent }: { readonly style: Style; readonly indent: number },
): string {
  const table = renderTable(columns, rows, { ...style, width: style.width - indent });
  return table.trimEnd().replace(/^(?=.)/gm, ' '.repeat(indent));
}

export interface TableLayout {
  readonly titles: string;
  /** Returns a row of one or several lines. Wider cells widen the columns as far as there is room. */
  line(cells: readonly string[]): string;
}

/** Computes the columns for these rows. The cells must be escaped. */
export function tableLayout(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  style: Style,
): TableLayout {
  let widths = columns.map(({ title }, index) =>
    Math.max(displayWidth(title), ...rows.map((row) => displayWidth(row[index] ?? ''))),
  );
  const placed = columns.map((column, index) => {
    const proseWidth = column.prose ? minProseWidth(rows.map((row) => row[index])) : 0;
    return { ...column, index, proseWidth };
  });
  const shown = withoutSpare(placed, widths, style.width);
  const linesOf = () => inLines(withSizes(shown, widths), style.width);
  let lines = linesOf();
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
        lines = linesOf();
      }
      return row(texts);
    },
  };
}

interface PlacedColumn extends Column {
  readonly index: number;
  /** The minimum width of a prose column; 0 for other columns. */
  readonly proseWidth: number;
}

interface SizedColumn extends PlacedColumn {
  readonly width: number;
  readonly minWidth: number;
}

function minProseWidth(texts: readonly (string | undefined)[]): number {
  const words = texts.flatMap((text = '') => text.split(' ').map(displayWidth));
  return Math.max(MIN_PROSE_WIDTH, ...words.filter((width) => width <= MAX_WORD_WIDTH));
}

/** Omits columns with a `dropOrder` until the others fit on one line. Keeps all columns if omitting them is not sufficient. */
function withoutSpare(all: readonly PlacedColumn[], widths: readonly number[], width: number): readonly PlacedColumn[] {
  const fits = (some: readonly PlacedColumn[]): boolean =>
    withSizes(some, widths).reduce((sum, column) => sum + preferredWidth(column, SPACIOUS_WIDTH) + gap, -gap) <= width;
  let remaining = all;
  for (const column of [...all].sort((a, b) => (b.dropOrder ?? 0) - (a.dropOrder ?? 0))) {
    if (fits(remaining) || column.dropOrder === undefined) break;
    remaining = remaining.filter(({ index }) => index !== column.index);
  }
  return fits(remaining) ? remaining : all;
}

/** Returns the preferred width of a column. It may be less than the longest cell if the column can be wrapped. */
function preferredWidth({ noWrap = false, prose = false, width, proseWidth }: SizedColumn, maxWidth: number): number {
  return noWrap ? width : Math.min(width, prose ? proseWidth : maxWidth);
}

function withSizes(columns: readonly PlacedColumn[], widths: readonly number[]): SizedColumn[] {
  return columns.map((column) => {
    const { index, noWrap = false, prose = false, proseWidth } = column;
    const natural = widths[index] ?? 0;
    const minWidth = Math.min(natural, prose ? proseWidth : MIN_WIDTH);
    return { ...column, width: natural, minWidth: noWrap ? natural : minWidth };
  });
}

function lineOf(members: readonly SizedColumn[], texts: readonly string[], margin: number): string {
  const cells = members.map(({ index, width, noWrap = false }) => {
    const text = texts[index] ?? '';
    return noWrap ? [text] : wrapCell(text, width);
  });
  const height = Math.max(1, ...cells.map((lines) => lines.length));
  return Array.from({ length: height }, (_, number) => {
    const parts = members.map(({ width, align }, place) => pad(cells[place]?.[number] ?? '', width, align));
    return (' '.repeat(margin) + parts.join(' '.repeat(gap))).trimEnd();
  }).join('\n');
}

function wrapCell(text: string, width: number): string[] {
  return wrapWords(text, width)
    .flatMap((line) => (displayWidth(line) > width ? breakText(line, width) : [line]))
    .map((line) => line.trimEnd());
}

/** Puts all columns on one line if wrapping makes them fit. Otherwise puts as many columns as possible on each line. */
function inLines(columns: readonly SizedColumn[], width: number): SizedColumn[][] {
  const minTotal = columns.reduce((sum, column) => sum + column.minWidth + gap, -gap);
  if (minTotal <= width) return [fitColumns(columns, width)];
  const lines: SizedColumn[][] = [];
  let room = 0;
  for (const column of columns) {
    const line = lines.at(-1);
    const preferred = column.prose ? column.width : preferredWidth(column, PREFERRED_WIDTH);
    if (line === undefined || preferred + gap > room) {
      lines.push([column]);
      room = width - (line === undefined ? 0 : hang) - preferred;
    } else {
      line.push(column);
      room -= preferred + gap;
    }
  }
  return lines.map((line, number) =>
    fitColumns(
      line.map((column) => (column.prose ? { ...column, minWidth: Math.min(column.width, MIN_WIDTH) } : column)),
      width - (number === 0 ? 0 : hang),
    ),
  );
}

/** Narrows columns until all fit or no column can be narrowed further: first prose, then the widest columns. */
function fitColumns(columns: readonly SizedColumn[], room: number): SizedColumn[] {
  const fitting = [...columns];
  let excess = columns.reduce((sum, { width }) => sum + width + gap, -gap) - room;
  while (excess > 0) {
    const shrinkable = fitting.flatMap((column, place) => (column.width > column.minWidth ? [{ column, place }] : []));
    const [widest, second] = shrinkable.sort(
      (a, b) =>
        Number(b.column.prose ?? false) - Number(a.column.prose ?? false) ||
        b.column.width - a.column.width ||
        a.place - b.place,
    );
    if (widest === undefined) break;
    const { column, place } = widest;
    const floor = column.prose ? column.minWidth : Math.max(column.minWidth, (second?.column.width ?? 0) - 1);
    const cut = Math.min(excess, column.width - floor);
    fitting[place] = { ...column, width: column.width - cut };
    excess -= cut;
  }
  return fitting;
}
