import { compareText } from '../problems/compare-text.ts';

/** Returns a count such as `1 field` or `2 fields`. */
export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** Returns the counts by kind, such as `12 Agent, 3 PhoneNumber`. */
export function kindCounts(items: readonly { readonly kind: string }[]): string {
  return [...Map.groupBy(items, ({ kind }) => kind)]
    .sort(([a], [b]) => compareText(a, b))
    .map(([kind, members]) => `${members.length} ${kind}`)
    .join(', ');
}
