import { escapeControls } from './escape-controls.ts';
import type { Style } from './style.ts';
import { breakText, displayWidth, pad, wrapWords } from './text-width.ts';

export interface Column {
  readonly title: string;
  readonly align?: 'left' | 'right';
  /** Never broken, whatever the width: an id or an address of which a part is worth nothing. */
  readonly whole?: boolean;
  /** Sentences, which are wrapped before other columns are. */
  readonly prose?: boolean;
  /** Left out where the other columns fit on one line without it; the highest goes first. */
  readonly spare?: number;
}

/** Columns of which no cell is broken. */
export function whole(...titles: readonly string[]): Column[] {
  return titles.map((title) => ({ title, whole: true }));
}

/** In columns: what parts two columns, and how far further lines of a row are in. */
const gap = 2;
const hang = 4;

/** In columns: what a wrapped one keeps at least, and what it asks for where it can have a line further down. */
const narrowest = 12;
const readable = 20;
/** The same where leaving out other columns may give it. */
const comfortable = 28;
/** In columns: sentences are not squeezed below this, nor below their longest word if it is no longer than that. */
const leastProse = 32;
const longestKept = 60;

/**
 * Rows under titles, columns aligned. Where a row is wider than the style, spare columns may be left out, sentences are wrapped, then the
 * widest other columns; where that is not enough, each row takes several lines. No cell is cut.
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

/** The same table, moved to the right. */
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
  const asProse = columns.map(({ prose }, index) =>
    prose ? leastAsProse(rows.map((row) => row[index])) : 0,
  );
  const placed = columns.map((column, index) => ({ ...column, index, asProse: asProse[index] ?? 0 }));
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
  /** Its place in a row. */
  readonly index: number;
  /** The width below which its sentences are not squeezed; 0 for other columns. */
  readonly asProse: number;
}

interface SizedColumn extends PlacedColumn {
  readonly width: number;
  /** The width below which it is not made narrower. */
  readonly least: number;
}

function leastAsProse(texts: readonly (string | undefined)[]): number {
  const words = texts.flatMap((text = '') => text.split(' ').map(displayWidth));
  return Math.max(leastProse, ...words.filter((width) => width <= longestKept));
}

/** Without as many spare columns as it takes for the others to fit on one line; all where leaving out does not make them fit. */
function withoutSpare(
  all: readonly PlacedColumn[],
  widths: readonly number[],
  width: number,
): readonly PlacedColumn[] {
  const fits = (some: readonly PlacedColumn[]): boolean =>
    sized(some, widths).reduce((sum, column) => sum + wanted(column, comfortable) + gap, -gap) <= width;
  let kept = all;
  for (const column of [...all].sort((a, b) => (b.spare ?? 0) - (a.spare ?? 0))) {
    if (fits(kept) || column.spare === undefined) break;
    kept = kept.filter(({ index }) => index !== column.index);
  }
  return fits(kept) ? kept : all;
}

/** What a column asks for: one that may be wrapped need not be as wide as its longest cell. */
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

/** All columns on one line where wrapping makes them fit, else as many on each line as it takes. */
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

/** The columns made narrower until all fit, or until none can be narrower: sentences first, then the widest. */
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
