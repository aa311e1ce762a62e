import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ValueCounts } from '../../../src/runs/impact/tally.ts';
import '../../property-seed.ts';
import { naiveQuantile } from './calls.ts';

const counted = (values: readonly number[]): ValueCounts => {
  const counts = new ValueCounts();
  for (const value of values) counts.add(value);
  return counts;
};

describe('counts of values', () => {
  it('give the quantiles of all values', () => {
    const part = fc.constantFrom(0, 0.25, 0.5, 0.95, 1);
    fc.assert(
      fc.property(
        fc.array(fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e9, max: 1e9 })),
        part,
        (values, at) => {
          expect(counted(values).quantile(at) ?? null).toEqual(naiveQuantile(values, at));
        },
      ),
    );
  });

  it('bound a median by values on both sides', () => {
    const { value, low, high } = counted(Array.from({ length: 20 }, (_, index) => index + 1)).median() ?? {};
    expect([low, value, high]).toEqual([6, 10.5, 15]);
    expect(counted([1, 2, 3, 4, 5]).median()).toBeUndefined();
  });

  it('are rounded as little as possible if there are too many', () => {
    const values = Array.from({ length: 50_000 }, (_, index) => Math.sqrt(index + 1) * 1.000001);
    const counts = counted(values);
    expect(counts.digits).toBe(4);
    for (const part of [0.05, 0.5, 0.95]) {
      const exact = naiveQuantile(values, part) ?? 0;
      expect(Math.abs((counts.quantile(part) ?? 0) / exact - 1)).toBeLessThan(0.0005);
    }
    expect(counts.total).toBe(50_000);
  });

  it('remain few for any values', () => {
    const values = Array.from(
      { length: 30_000 },
      (_, index) => (index % 2 ? -1 : 1) * 10 ** ((index % 600) - 300) * (index + 1),
    );
    expect(counted(values).digits).toBeLessThanOrEqual(2);
  });
});
