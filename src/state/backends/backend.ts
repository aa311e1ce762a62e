/** Where a run can be made to die, for tests. */
export type FailPoint =
  | 'before-append'
  | 'after-append'
  | 'before-fold'
  | 'before-rename'
  | 'after-rename'
  | 'before-truncate'
  | 'before-mark'
  | 'after-mark';
