import { compareText } from '../problems/compare-text.ts';

/** `1 field`, `2 fields`. */
export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** `12 Agent, 3 PhoneNumber`, by kind. */
export function kindCounts(items: readonly { readonly kind: string }[]): string {
  return [...Map.groupBy(items, ({ kind }) => kind)]
    .sort(([a], [b]) => compareText(a, b))
    .map(([kind, members]) => `${members.length} ${kind}`)
    .join(', ');
}
