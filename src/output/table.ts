import { escapeControls } from './escape-controls.ts';
import type { Style } from './style.ts';
import { breakText, displayWidth, pad, wrapWords } from './text-width.ts';

export interface Column {
  readonly title: string;
  readonly align?: 'left' | 'right';
  /** True if cells are never wrapped, because a part of an id or an address is useless. */
  readonly whole?: boolean;
  /** True for a column of sentences, which is wrapped before other columns. */
  readonly prose?: boolean;
  /** Set for a column that may be omitted to make the others fit on one line. The highest number is omitted first. */
  readonly spare?: number;
}

/** Returns columns whose cells are never wrapped. */
export function whole(...titles: readonly string[]): Column[] {
  return titles.map((title) => ({ title, whole: true }));
}

/** The space between two cells, and the indentation of further lines of a row. */
const gap = 2;
const hang = 4;

/** The minimum width of a wrapped column, and its preferred width in a row of several lines. */
const narrowest = 12;
const readable = 20;
/** The preferred width of a wrapped column when spare columns are omitted to make room. */
const comfortable = 28;
/** The minimum width of sentences, which grows to their longest word of at most `longestKept` columns. */
const leastProse = 32;
const longestKept = 60;

/**
 * Returns a table with titles and aligned columns. If a row is too wide, spare columns are omitted, then sentences and the widest other
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

/** Returns an indented table. */
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
  /** Returns a row of one or several lines. A row with wider cells widens the columns as far as there is room. */
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
    const asProse = column.prose ? leastAsProse(rows.map((row) => row[index])) : 0;
    return { ...column, index, asProse };
  });
  const shown = withoutSpare(placed, widths, style.width);
  const linesOf = () => inLines(sized(shown, widths), style.width);
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
  /** The index in a row. */
  readonly index: number;
  /** The minimum width of its sentences; 0 for other columns. */
  readonly asProse: number;
}

interface SizedColumn extends PlacedColumn {
  readonly width: number;
  readonly least: number;
}

function leastAsProse(texts: readonly (string | undefined)[]): number {
  const words = texts.flatMap((text = '') => text.split(' ').map(displayWidth));
  return Math.max(leastProse, ...words.filter((width) => width <= longestKept));
}

/** Omits spare columns until the others fit on one line. Keeps all columns if that is not sufficient. */
function withoutSpare(all: readonly PlacedColumn[], widths: readonly number[], width: number): readonly PlacedColumn[] {
  const fits = (some: readonly PlacedColumn[]): boolean =>
    sized(some, widths).reduce((sum, column) => sum + wanted(column, comfortable) + gap, -gap) <= width;
  let kept = all;
  for (const column of [...all].sort((a, b) => (b.spare ?? 0) - (a.spare ?? 0))) {
    if (fits(kept) || column.spare === undefined) break;
    kept = kept.filter(({ index }) => index !== column.index);
  }
  return fits(kept) ? kept : all;
}

/** Returns the preferred width of a column. It may be less than the longest cell if the column can be wrapped. */
function wanted({ whole = false, prose = false, width, asProse }: SizedColumn, enough: number): number {
  return whole ? width : Math.min(width, prose ? asProse : enough);
}

function sized(columns: readonly PlacedColumn[], widths: readonly number[]): SizedColumn[] {
  return columns.map((column) => {
    const { index, whole = false, prose = false, asProse } = column;
    const natural = widths[index] ?? 0;
    const least = Math.min(natural, prose ? asProse : narrowest);
    return { ...column, width: natural, least: whole ? natural : least };
  });
}

function lineOf(members: readonly SizedColumn[], texts: readonly string[], margin: number): string {
  const cells = members.map(({ index, width, whole = false }) => {
    const text = texts[index] ?? '';
    return whole ? [text] : wrapped(text, width);
  });
  const height = Math.max(1, ...cells.map((lines) => lines.length));
  return Array.from({ length: height }, (_, number) => {
    const parts = members.map(({ width, align }, place) => pad(cells[place]?.[number] ?? '', width, align));
    return (' '.repeat(margin) + parts.join(' '.repeat(gap))).trimEnd();
  }).join('\n');
}

function wrapped(text: string, width: number): string[] {
  return wrapWords(text, width)
    .flatMap((line) => (displayWidth(line) > width ? breakText(line, width) : [line]))
    .map((line) => line.trimEnd());
}

/** Puts all columns on one line if wrapping makes them fit, otherwise as many on each line as possible. */
function inLines(columns: readonly SizedColumn[], width: number): SizedColumn[][] {
  const least = columns.reduce((sum, column) => sum + column.least + gap, -gap);
  if (least <= width) return [fitted(columns, width)];
  const lines: SizedColumn[][] = [];
  let room = 0;
  for (const column of columns) {
    const line = lines.at(-1);
    const asked = column.prose ? column.width : wanted(column, readable);
    if (line === undefined || asked + gap > room) {
      lines.push([column]);
      room = width - (line === undefined ? 0 : hang) - asked;
    } else {
      line.push(column);
      room -= asked + gap;
    }
  }
  return lines.map((line, number) =>
    fitted(
      line.map((column) => (column.prose ? { ...column, least: Math.min(column.width, narrowest) } : column)),
      width - (number === 0 ? 0 : hang),
    ),
  );
}

/** Narrows columns until all fit or none can be narrowed further: first sentences, then the widest columns. */
function fitted(columns: readonly SizedColumn[], room: number): SizedColumn[] {
  const fitting = [...columns];
  let excess = columns.reduce((sum, { width }) => sum + width + gap, -gap) - room;
  while (excess > 0) {
    const cuttable = fitting.flatMap((column, place) => (column.width > column.least ? [{ column, place }] : []));
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
