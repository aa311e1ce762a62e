import type { Style } from './style.ts';
import { displayWidth, pad, truncate } from './text-width.ts';
import { visible } from './visible.ts';

export interface Column {
  readonly title: string;
  readonly align?: 'left' | 'right';
  /** Never cut, whatever the width: an id or an address of which a part is worth nothing. */
  readonly whole?: boolean;
}

/** In columns: what parts two columns, and what a cut one keeps at least. */
const gap = 2;
const narrowest = 8;

/** Rows under titles, columns aligned; where a row is wider than the style, the widest columns are cut with `…`. */
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
  /** A row with the widths of the layout; what does not fit is cut. */
  line(cells: readonly string[]): string;
}

/** Columns as wide as these rows need. Cells must have passed `visible`. */
export function tableLayout(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  style: Style,
): TableLayout {
  const natural = columns.map(({ title }, index) =>
    Math.max(displayWidth(title), ...rows.map((row) => displayWidth(row[index] ?? ''))),
  );
  const widths = fitted(columns, natural, style.width - gap * (columns.length - 1));
  const line = (texts: readonly string[]) =>
    columns
      .map(({ align = 'left', whole = false }, index) => {
        const width = widths[index] ?? 0;
        const text = texts[index] ?? '';
        return pad(whole ? text : truncate(text, width), width, align);
      })
      .join(' '.repeat(gap))
      .trimEnd();
  return { titles: style.bold(line(columns.map(({ title }) => title))), line };
}

/** The widths with the widest column that may be cut made narrower until all fit, or until none can be cut further. */
function fitted(columns: readonly Column[], natural: readonly number[], room: number): number[] {
  const widths = [...natural];
  let excess = widths.reduce((sum, width) => sum + width, 0) - room;
  while (excess > 0) {
    const cuttable = widths.flatMap((width, index) =>
      columns[index]?.whole || width <= narrowest ? [] : [{ width, index }],
    );
    const [widest, second] = cuttable.sort((a, b) => b.width - a.width || a.index - b.index);
    if (widest === undefined) break;
    const cut = Math.min(excess, widest.width - Math.max(narrowest, (second?.width ?? narrowest) - 1));
    widths[widest.index] = widest.width - cut;
    excess -= cut;
  }
  return widths;
}
