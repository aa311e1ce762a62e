import type { ColumnForm, RecordColumn } from '../../kinds/record-table.ts';
import { escapeUnsafe } from '../../values/unsafe-text.ts';
import { escapeControls } from '../escape-controls.ts';
import type { Style } from '../style.ts';
import type { Column } from '../table.ts';
import { type TableLayout, tableLayout } from '../table.ts';
import { yamlText } from '../yaml-text.ts';
import { amountText, plainText, type TimeZone, timeText, unixTimeText } from './record-values.ts';

type ShownFields = Readonly<Record<string, unknown>>;

export const RECORD_FORMATS = ['table', 'json', 'jsonl', 'yaml', 'csv'] as const;
export type RecordFormat = (typeof RECORD_FORMATS)[number];

/** Turns records into text as they come, so that the length of a list does not matter. */
interface RecordWriter {
  /** What is to be printed now; empty while more must be known first. */
  write(record: ShownFields): string;
  /** What is still to be printed once all records have come. */
  end(): string;
}

interface RecordWriting extends RecordContext {
  /** Of a table, from left to right. */
  readonly columns: readonly RecordColumn[];
  readonly style: Style;
}

export function createRecordWriter(format: RecordFormat, options: RecordWriting): RecordWriter {
  const writers: Record<RecordFormat, () => RecordWriter> = {
    table: () => tableWriter(options),
    json: jsonWriter,
    jsonl: () => ({ write: (record) => `${escapeUnsafe(JSON.stringify(record))}\n`, end: () => '' }),
    yaml: () => ({ write: (record) => `---\n${yamlText(record)}`, end: () => '' }),
    csv: csvWriter,
  };
  return writers[format]();
}

/** The widths of the columns come from the first records; later ones keep to them. */
const ROWS_TO_MEASURE = 100;

/** Without columns that have been empty so far: a record that fills one begins a table that has it. */
function tableWriter(writing: RecordWriting): RecordWriter {
  const { style } = writing;
  const columns = shownColumns(writing.columns, writing);
  const measured: string[][] = [];
  let layout: TableLayout | undefined;
  let filled: readonly number[] = [];
  const isNew = (cells: readonly string[]): boolean =>
    cells.some((cell, index) => cell !== '' && !filled.includes(index));
  const pick = <T>(row: readonly T[]): T[] => row.filter((_, index) => filled.includes(index));
  const begin = (rows: readonly string[][]): string => {
    filled = [...columns.keys()].filter((index) => measured.some((cells) => cells[index] !== ''));
    layout = tableLayout(pick(columns), measured.map(pick), style);
    return [layout.titles, ...rows.map((cells) => layout?.line(pick(cells))), ''].join('\n');
  };
  return {
    write(record) {
      const cells = columns.map(({ cell }) => escapeControls(cell(record)));
      if (layout !== undefined && !isNew(cells)) return `${layout.line(pick(cells))}\n`;
      measured.push(cells);
      if (layout !== undefined) return `\n${begin([cells])}`;
      return measured.length < ROWS_TO_MEASURE ? '' : begin(measured);
    },
    end: () => (layout !== undefined || measured.length === 0 ? '' : begin(measured)),
  };
}

/** An array that is opened with the first record, and closed even when there was none. */
function jsonWriter(): RecordWriter {
  let count = 0;
  return {
    write(record) {
      count += 1;
      const text = JSON.stringify(record, undefined, 2).replaceAll('\n', '\n  ');
      return `${count === 1 ? '[\n  ' : ',\n  '}${escapeUnsafe(text)}`;
    },
    end: () => (count === 0 ? '[]\n' : '\n]\n'),
  };
}

/** The columns of CSV come from these: a record may lack what another one has. */
const RECORDS_TO_NAME_FIELDS = 1000;

/** RFC 4180, with all fields of the first records as columns. */
function csvWriter(): RecordWriter {
  let waiting: ShownFields[] | undefined = [];
  let fields: readonly string[] = [];
  const rowOf = (record: ShownFields): string => csvLine(fields.map((field) => csvText(record[field])));
  const flush = (): string => {
    const rows = waiting ?? [];
    waiting = undefined;
    fields = [...new Set(rows.flatMap((record) => Object.keys(record)))];
    return rows.length === 0 ? '' : [csvLine(fields), ...rows.map(rowOf)].join('');
  };
  return {
    write(record) {
      if (waiting === undefined) return rowOf(record);
      waiting.push(record);
      return waiting.length < RECORDS_TO_NAME_FIELDS ? '' : flush();
    },
    end: () => (waiting === undefined ? '' : flush()),
  };
}

function csvLine(cells: readonly string[]): string {
  return `${cells.map(csvField).join(',')}\r\n`;
}

function csvText(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/**
 * Where spreadsheets would begin a formula, which may have blanks before it: at the beginning, and after a semicolon, which is
 * the separator in many countries. A signed number, such as +12025550120 or -3.5, is data.
 */
const FORMULA = /(?<=^|;)(?!\s*[+-]?\d+(\.\d+)?\s*(;|$))(?=\s*[=+\-@\uff1d\uff0b\uff0d\uff20])/g;

/** A formula gets an apostrophe before it; control characters but line feeds, tabs too, are escapes. */
function csvField(value: string): string {
  const text = escapeUnsafe(value.replaceAll(FORMULA, "'"));
  return /[",;\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** What is known beside the records. */
interface RecordContext {
  readonly zone: TimeZone;
  /** By id: the addresses of known records. */
  readonly addresses: ReadonlyMap<string, string>;
  /** By id: which records mention those without an address, as clauses. */
  readonly mentioned: ReadonlyMap<string, readonly string[]>;
}

interface Form extends Partial<Column> {
  show(value: unknown, record: Readonly<Record<string, unknown>>, about: RecordContext): string;
}

const forms = {
  address: { show: (value, _, { addresses }) => addresses.get(String(value)) ?? '' },
  mentions: {
    prose: true,
    show: (value, _, { mentioned }) => mentioned.get(String(value))?.join(', ') ?? '',
  },
  reference: {
    whole: true,
    show: (value, _, { addresses }) => addresses.get(String(value)) ?? plainText(value),
  },
  time: { whole: true, show: (value, _, { zone }) => timeText(value, zone) },
  'time-or-null': {
    whole: true,
    show: (value, _, { zone }) => (value === null ? 'null' : timeText(value, zone)),
  },
  'unix-time': { whole: true, show: (value, _, { zone }) => unixTimeText(value, zone) },
  amount: { whole: true, align: 'right', show: (value, { currency }) => amountText(value, currency) },
  count: { show: (value) => (Array.isArray(value) ? String(value.length) : '') },
} satisfies Record<ColumnForm, Form>;

interface ShownColumn extends Column {
  cell(record: Readonly<Record<string, unknown>>): string;
}

function shownColumns(columns: readonly RecordColumn[], about: RecordContext): ShownColumn[] {
  return columns.map(({ as, field, ...column }) => {
    if (as === undefined) return { ...column, cell: (record) => plainText(record[field]) };
    const { show, ...layout }: Form = forms[as];
    return { ...layout, ...column, cell: (record) => show(record[field], record, about) };
  });
}
