import { diffArrays } from 'diff';
import { type Json, jsonEqual } from '../../values/json.ts';

/** Lists that differ in more items are not aligned, because the time is quadratic. */
const MAX_DIFFERENT = 1000;

/** The longest common subsequence of two lists, as pairs of indices. */
export function alignment(before: readonly Json[], after: readonly Json[]): [number, number][] {
  const options = { comparator: jsonEqual, maxEditLength: MAX_DIFFERENT };
  const pairs: [number, number][] = [];
  let [a, b] = [0, 0];
  for (const { added, removed, count } of diffArrays([...before], [...after], options) ?? []) {
    if (removed) a += count;
    else if (added) b += count;
    else for (let item = 0; item < count; item++) pairs.push([a++, b++]);
  }
  return pairs;
}
