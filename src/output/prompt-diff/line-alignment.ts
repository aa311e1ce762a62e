import { diffArrays } from 'diff';

/** A common line, or a range in which the texts differ. Numbers are line indexes. */
export type Stretch =
  | {
      readonly type: 'same';
      readonly before: number;
      readonly after: number;
      /** False if white space differs. */
      readonly exact: boolean;
    }
  | { readonly type: 'changed'; readonly before: Range; readonly after: Range };

export interface Range {
  readonly start: number;
  /** The exclusive end. */
  readonly end: number;
}

/** The maximum number of differing lines. A larger diff takes long to compute and is no more useful than both texts. */
const maxEdits = 1000;

/**
 * Aligns the lines of two texts; undefined if they have too little in common. With `foldSpace`, lines that differ only in the amount of
 * white space match.
 */
export function alignLines(
  before: readonly string[],
  after: readonly string[],
  { foldSpace }: { readonly foldSpace: boolean },
): Stretch[] | undefined {
  const key = foldSpace ? withoutExtraSpace : String;
  const parts = diffArrays(before.map(key), after.map(key), { maxEditLength: maxEdits });
  if (parts === undefined) return undefined;
  const stretches: Stretch[] = [];
  let [old, now] = [0, 0];
  for (const { value, added, removed } of parts) {
    const count = value.length;
    if (!added && !removed) {
      for (let index = 0; index < count; index++, old++, now++) {
        stretches.push({ type: 'same', before: old, after: now, exact: before[old] === after[now] });
      }
      continue;
    }
    const last = stretches.at(-1);
    const open = last?.type === 'changed' ? last : undefined;
    if (open !== undefined) stretches.pop();
    const from = open ?? { before: { start: old, end: old }, after: { start: now, end: now } };
    if (removed) old += count;
    else now += count;
    stretches.push({
      type: 'changed',
      before: { start: from.before.start, end: old },
      after: { start: from.after.start, end: now },
    });
  }
  return stretches;
}

/** Only blanks: invisible characters do not count as white space. */
function withoutExtraSpace(line: string): string {
  return line.replace(/[ \t\r\u00a0]+/g, ' ').trim();
}
