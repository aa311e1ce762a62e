/** The table of `voxform get` for the records of a kind. */
export interface RecordTable {
  /** The argument of `get`, and the name of flags that take ids: `agents` gives `--agents` and `--agents-from`. */
  readonly name: string;
  readonly description: string;
  /** The columns from left to right. */
  readonly columns: readonly RecordColumn[];
}

export interface RecordColumn {
  readonly title: string;
  /** The field of the record, and the name of the column in CSV. */
  readonly field: string;
  readonly as?: ColumnForm;
  readonly align?: 'right';
  /** True for a column that is never wrapped. */
  readonly whole?: true;
  /** Omitted if the row does not fit on a line; the highest number goes first. */
  readonly spare?: number;
}

/**
 * `address`: the address of the record in the state. `mentions`: records that mention it, for records without an address.
 * `reference`: the address of the record with this id, or the id. `time` and `unix-time`: a time. `amount`: money in the record's
 * `currency`. `count`: the length of an array. `time-or-null`: a time, or `null`.
 */
export type ColumnForm =
  | 'address'
  | 'mentions'
  | 'reference'
  | 'time'
  | 'time-or-null'
  | 'unix-time'
  | 'amount'
  | 'count';

export const ID_COLUMN: RecordColumn = { title: 'ID', field: 'id', whole: true };
export const ADDRESS_COLUMN: RecordColumn = { title: 'ADDRESS', field: 'id', as: 'address', whole: true };
