import type { ColumnForm, RecordColumn } from '../../kinds/record-table.ts';
import { escapeUnsafe } from '../../values/unsafe-text.ts';
import { escapeControls } from '../escape-controls.ts';
import type { Style } from '../style.ts';
import { type Column, type TableLayout, tableLayout } from '../table.ts';
import { yamlText } from '../yaml-text.ts';
import { amountText, plainText, type TimeZone, timeText, unixTimeText } from './record-values.ts';

type ShownFields = Readonly<Record<string, unknown>>;

export const RECORD_FORMATS = ['table', 'json', 'jsonl', 'yaml', 'csv'] as const;
export type RecordFormat = (typeof RECORD_FORMATS)[number];

/** Writes records as they arrive, so that memory does not grow with the list. */
interface RecordWriter {
  /** Returns the output for this record. It is empty while the first records are buffered. */
  write(record: ShownFields): string;
  /** Returns the output after the last record. */
  end(): string;
}

interface RecordWriting extends RecordContext {
  /** The columns of a table, from left to right. */
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

/** The number of records that determine the widths of the columns. */
const ROWS_TO_MEASURE = 100;

/** Writes a table without empty columns. A record with a value in an omitted column starts a new table. */
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

/** Writes one JSON array of all records. */
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

/** The number of records that determine the columns, because a single record may lack fields. */
const RECORDS_TO_NAME_FIELDS = 1000;

/** Writes CSV (RFC 4180). The columns are all fields of the first records. */
function csvWriter(): RecordWriter {
  let buffered: ShownFields[] | undefined = [];
  let fields: readonly string[] = [];
  const rowOf = (record: ShownFields): string => csvLine(fields.map((field) => record[field]));
  const flush = (): string => {
    const rows = buffered ?? [];
    buffered = undefined;
    fields = [...new Set(rows.flatMap((record) => Object.keys(record)))];
    return rows.length === 0 ? '' : [csvLine(fields), ...rows.map(rowOf)].join('');
  };
  return {
    write(record) {
      if (buffered === undefined) return rowOf(record);
      buffered.push(record);
      return buffered.length < RECORDS_TO_NAME_FIELDS ? '' : flush();
    },
    end: () => (buffered === undefined ? '' : flush()),
  };
}

function csvLine(cells: readonly unknown[]): string {
  return `${cells.map(csvField).join(',')}\r\n`;
}

/**
 * Matches the positions where a spreadsheet would read a formula, possibly after white space: at the start, and after a semicolon, which
 * separates cells in many countries. A signed number such as +12025550120 or -3.5 is not a formula.
 */
const FORMULA = /(?<=^|;)(?!\s*[+-]?\d+(\.\d+)?\s*(;|$))(?=\s*[=+\-@\uff1d\uff0b\uff0d\uff20])/g;

/** Puts an apostrophe before a formula, and escapes control characters other than line feeds. */
function csvField(value: unknown): string {
  const plain = typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value ?? '');
  const text = escapeUnsafe(plain.replaceAll(FORMULA, "'"));
  return /[",;\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Data for columns whose values are not fields of the record. */
interface RecordContext {
  readonly zone: TimeZone;
  /** The addresses of known records by id. */
  readonly addresses: ReadonlyMap<string, string>;
  /** For each record without an address, by id: clauses about the records that mention this record. */
  readonly mentioned: ReadonlyMap<string, readonly string[]>;
}

interface Form extends Partial<Column> {
  show(value: unknown, record: ShownFields, about: RecordContext): string;
}

const forms = {
  address: { show: (value, _, { addresses }) => addresses.get(String(value)) ?? '' },
  mentions: { prose: true, show: (value, _, { mentioned }) => mentioned.get(String(value))?.join(', ') ?? '' },
  reference: { noWrap: true, show: (value, _, { addresses }) => addresses.get(String(value)) ?? plainText(value) },
  time: { noWrap: true, show: (value, _, { zone }) => timeText(value, zone) },
  'time-or-null': { noWrap: true, show: (value, _, { zone }) => (value === null ? 'null' : timeText(value, zone)) },
  'unix-time': { noWrap: true, show: (value, _, { zone }) => unixTimeText(value, zone) },
  amount: { noWrap: true, align: 'right', show: (value, { currency }) => amountText(value, currency) },
  count: { show: (value) => (Array.isArray(value) ? String(value.length) : '') },
} satisfies Record<ColumnForm, Form>;

function shownColumns(columns: readonly RecordColumn[], about: RecordContext) {
  return columns.map(({ form, field, ...column }) => {
    const { show, ...layout }: Form = form === undefined ? { show: plainText } : forms[form];
    return { ...layout, ...column, cell: (record: ShownFields) => show(record[field], record, about) };
  });
}
