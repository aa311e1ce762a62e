import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { differenceOf, medianRank, wilson } from '../../../src/runs/impact/tally.ts';
import '../../property-seed.ts';

describe('wilson', () => {
  it.each([
    // Newcombe 1998, table I: the score method without continuity correction.
    { count: 81, total: 263, low: 0.2553, high: 0.3662 },
    { count: 15, total: 148, low: 0.0624, high: 0.1605 },
    { count: 0, total: 20, low: 0, high: 0.1611 },
    { count: 1, total: 29, low: 0.0061, high: 0.1718 },
    { count: 20, total: 20, low: 0.8389, high: 1 },
  ])('of $count in $total', ({ count, total, low, high }) => {
    const found = wilson(count, total);
    expect(found.low).toBeCloseTo(low, 4);
    expect(found.high).toBeCloseTo(high, 4);
  });
});

describe('difference of two shares', () => {
  it.each([
    // Newcombe 1998, table II: method 10.
    { a: [56, 70], b: [48, 80], low: 0.0524, high: 0.3339 },
    { a: [9, 10], b: [3, 10], low: 0.1705, high: 0.809 },
    { a: [6, 7], b: [2, 7], low: 0.0582, high: 0.8062 },
    { a: [5, 56], b: [0, 29], low: -0.0381, high: 0.1926 },
    { a: [0, 10], b: [0, 20], low: -0.1611, high: 0.2775 },
    { a: [10, 10], b: [0, 10], low: 0.6075, high: 1 },
  ] as const)('of $a and $b', ({ a, b, low, high }) => {
    const found = differenceOf(wilson(b[0], b[1]), wilson(a[0], a[1]));
    expect(found.low).toBeCloseTo(low, 4);
    expect(found.high).toBeCloseTo(high, 4);
  });

  it('is negated if the sides are swapped', () => {
    const share = fc
      .integer({ min: 1, max: 500 })
      .chain((total) => fc.tuple(fc.integer({ min: 0, max: total }), fc.constant(total)));
    fc.assert(
      fc.property(share, share, (a, b) => {
        const [one, other] = [wilson(...a), wilson(...b)];
        const [there, back] = [differenceOf(one, other), differenceOf(other, one)];
        expect(there.low).toBeCloseTo(-back.high, 12);
        expect(there.low).toBeLessThanOrEqual(there.value);
        expect(there.high).toBeGreaterThanOrEqual(there.value);
      }),
    );
  });
});

describe('rank that bounds a median', () => {
  it('matches the tables, and is undefined for fewer than six values', () => {
    // Conover, table of the sign test: the largest rank with at most 2.5 % on either side.
    const ranks = [6, 8, 9, 12, 20, 30, 50, 100].map(medianRank);
    expect(ranks).toEqual([1, 1, 2, 3, 6, 10, 18, 40]);
    expect([0, 1, 5].map(medianRank)).toEqual([undefined, undefined, undefined]);
  });

  it('continues smoothly at the normal approximation', () => {
    expect(medianRank(1001)).toBeGreaterThanOrEqual(medianRank(999) ?? 0);
    expect((medianRank(1001) ?? 0) - (medianRank(1000) ?? 0)).toBeLessThanOrEqual(1);
  });
});
