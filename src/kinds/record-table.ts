/** The table of `voxform get` for the records of a kind. */
export interface RecordTable {
  /** The argument of `get`. Flags that take ids have the same name, e.g. `--agents` and `--agents-from`. */
  readonly name: string;
  readonly description: string;
  /** The columns from left to right. */
  readonly columns: readonly RecordColumn[];
}

export interface RecordColumn {
  readonly title: string;
  /** The field of the record, and the name of the column in CSV. */
  readonly field: string;
  readonly form?: ColumnForm;
  readonly align?: 'right';
  /** Present if the column is never wrapped. */
  readonly noWrap?: true;
  /** Present if the column may be omitted when a row does not fit on a line. The highest number is omitted first. */
  readonly dropOrder?: number;
}

/**
 * `address`: the address of the record in the state. `mentions`: for a record without an address, the records that mention it.
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

export const ID_COLUMN: RecordColumn = { title: 'ID', field: 'id', noWrap: true };
export const ADDRESS_COLUMN: RecordColumn = { title: 'ADDRESS', field: 'id', form: 'address', noWrap: true };
