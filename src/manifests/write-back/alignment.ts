import { type Json, jsonEqual } from '../../values/json.ts';

/** Beyond this many pairs of items only the common beginning and end of two lists are found. */
const MOST_PAIRS = 250_000;

/** Pairs of indices of items that are equal in both lists, rising in both: as many as there are. */
export function alignment(before: readonly Json[], after: readonly Json[]): [number, number][] {
  let start = 0;
  while (start < before.length && start < after.length && jsonEqual(before[start], after[start])) start++;
  let end = 0;
  const shortest = Math.min(before.length, after.length) - start;
  while (end < shortest && jsonEqual(before[before.length - 1 - end], after[after.length - 1 - end])) end++;
  const pairs: [number, number][] = Array.from({ length: start }, (_, index) => [index, index]);
  const inner = longest(before.slice(start, before.length - end), after.slice(start, after.length - end));
  for (const [a, b] of inner) pairs.push([a + start, b + start]);
  for (let index = end; index > 0; index--) pairs.push([before.length - index, after.length - index]);
  return pairs;
}

/** The longest common subsequence, by the textbook's table. */
function longest(before: readonly Json[], after: readonly Json[]): [number, number][] {
  if (before.length * after.length > MOST_PAIRS) return [];
  const width = after.length + 1;
  const lengths = new Uint32Array((before.length + 1) * width);
  const at = (a: number, b: number): number => lengths[a * width + b] ?? 0;
  for (let a = before.length - 1; a >= 0; a--) {
    for (let b = after.length - 1; b >= 0; b--) {
      lengths[a * width + b] = jsonEqual(before[a], after[b])
        ? at(a + 1, b + 1) + 1
        : Math.max(at(a + 1, b), at(a, b + 1));
    }
  }
  const pairs: [number, number][] = [];
  let [a, b] = [0, 0];
  while (a < before.length && b < after.length) {
    if (jsonEqual(before[a], after[b])) pairs.push([a++, b++]);
    else if (at(a + 1, b) >= at(a, b + 1)) a++;
    else b++;
  }
  return pairs;
}
