import type { ColumnForm, RecordColumn } from '../../kinds/record-table.ts';
import type { Column } from '../table.ts';
import { amountText, plainText, type TimeZone, timeText, unixTimeText } from './record-values.ts';

/** What is known beside the records. */
export interface RecordContext {
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

export function shownColumns(columns: readonly RecordColumn[], about: RecordContext): ShownColumn[] {
  return columns.map(({ as, field, ...column }) => {
    if (as === undefined) return { ...column, cell: (record) => plainText(record[field]) };
    const { show, ...layout }: Form = forms[as];
    return { ...layout, ...column, cell: (record) => show(record[field], record, about) };
  });
}
