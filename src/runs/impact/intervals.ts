/** Standard deviations of the normal distribution for 95 %. */
const Z = 1.959963984540054;

/** A value with its 95 % interval. */
export interface Estimate {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** Without the last digits, where sums of binary fractions are inexact; null for no value. */
export function rounded(value: number | undefined): number | null {
  return value === undefined ? null : Number(value.toPrecision(10));
}

/** A share with its score interval (Wilson 1927). `total` is at least 1. */
export function wilson(count: number, total: number): Estimate {
  const value = count / total;
  const weight = Z ** 2 / total;
  const center = value + weight / 2;
  const half = Z * Math.sqrt((value * (1 - value)) / total + weight / (4 * total));
  return {
    value,
    low: count === 0 ? 0 : (center - half) / (1 + weight),
    high: count === total ? 1 : (center + half) / (1 + weight),
  };
}

/**
 * The difference of two independent estimates with its interval, from their intervals (MOVER, Zou and Donner 2008). For two shares, this
 * is the hybrid score interval (Newcombe 1998, method 10).
 */
export function differenceOf(from: Estimate, to: Estimate): Estimate {
  const value = to.value - from.value;
  return {
    value,
    low: value - Math.hypot(to.value - to.low, from.high - from.value),
    high: value + Math.hypot(to.high - to.value, from.value - from.low),
  };
}

/** Above this number, the normal distribution gives the same ranks as the binomial one. */
const MOST_EXACT = 1000;

/**
 * The rank from either end, starting at 1, of the values that bound the median with 95 % certainty for any distribution; undefined below
 * six values, which is too few.
 */
export function medianRank(count: number): number | undefined {
  if (count > MOST_EXACT) return Math.floor((count - Z * Math.sqrt(count)) / 2);
  let rank = 0;
  let probability = 0.5 ** count;
  for (let below = probability; below <= 0.025; below += probability) {
    rank += 1;
    probability *= (count - rank + 1) / rank;
  }
  return rank === 0 ? undefined : rank;
}
