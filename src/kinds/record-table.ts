/** How `get` shows the records of a kind. */
export interface RecordTable {
  /** What people type for them, also in the flags that take ids: `agents` gives `--agents` and `--agents-from`. */
  readonly name: string;
  /** What they are, in a few words. */
  readonly description: string;
  /** From left to right. */
  readonly columns: readonly RecordColumn[];
}

export interface RecordColumn {
  readonly title: string;
  /** The field of the record, which is also its name in CSV. */
  readonly field: string;
  readonly as?: ColumnForm;
  readonly align?: 'right';
  /** Never broken, whatever the width. */
  readonly whole?: true;
  /** Left out where the other columns fit on one line without it; the highest goes first. */
  readonly spare?: number;
}

/**
 * `address`: the address that the record has in the state. `mentions`: which records mention it, if nothing else leads to it.
 * `reference`: the address of the record with that id, else the id. `time` and `unix-time`: a moment. `amount`: money in the record's
 * `currency`. `count`: the length of an array. `time-or-null`: a moment, or `null`.
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
