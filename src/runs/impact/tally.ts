import { decimalOf, secondsOf } from '../call-selection.ts';

export const shareFields = ['session_outcome', 'end_reason', 'session_status'] as const;
/** Measured fields. `duration` is in seconds; the platform does not document the units of the others. */
export const measures = ['duration', 'e2e_latency', 'cost'] as const;

export type ShareField = (typeof shareFields)[number];
export type Measure = (typeof measures)[number];

type Call = Readonly<Record<string, unknown>>;

/** The name that stands for a missing value. */
const NOT_SHOWN = '(not shown)';
/** The name that stands for all values of a field beyond the first `MAX_VALUES`. */
export const OTHERS = '(others)';

/** The maximum number of values per field. Fields have few values, but unexpected ids or texts must not exhaust the memory. */
export const MAX_VALUES = 100;

/**
 * The values that are counted separately: the first `MAX_VALUES` values of each field. All versions share them, so that a value is counted
 * as `(others)` either in all versions or in none.
 */
export class CountedValues {
  readonly #known = new Map(shareFields.map((field) => [field, new Set<string>()]));

  /** Returns the name under which a value is counted. */
  nameOf(field: ShareField, value: unknown): string {
    const name = typeof value === 'string' && value !== '' ? value : NOT_SHOWN;
    const known = this.#known.get(field) ?? new Set();
    if (!known.has(name) && known.size >= MAX_VALUES) return OTHERS;
    known.add(name);
    return name;
  }
}

/** Counts calls by the values of their fields. */
export class Shares {
  readonly #values: CountedValues;
  readonly #counts = new Map(shareFields.map((field) => [field, new Map<string, number>()]));
  #calls = 0;

  constructor(values: CountedValues) {
    this.#values = values;
  }

  get calls(): number {
    return this.#calls;
  }

  of(field: ShareField): ReadonlyMap<string, number> {
    return this.#counts.get(field) ?? new Map();
  }

  add(call: Call): void {
    this.#calls += 1;
    for (const [field, counts] of this.#counts) count(counts, this.#values.nameOf(field, call[field]), 1);
  }

  merge(other: Shares): void {
    this.#calls += other.calls;
    for (const [field, counts] of this.#counts)
      for (const [value, times] of other.of(field)) count(counts, value, times);
  }
}

function count(counts: Map<string, number>, value: string, times: number): void {
  counts.set(value, (counts.get(value) ?? 0) + times);
}

export class VersionTally {
  readonly shares: Shares;
  readonly measured: Readonly<Record<Measure, ValueCounts>> = {
    duration: new ValueCounts(),
    e2e_latency: new ValueCounts(),
    cost: new ValueCounts(),
  };

  /** Calls whose value is not a number. */
  readonly unreadable: Record<Measure, number> = { duration: 0, e2e_latency: 0, cost: 0 };

  constructor(values: CountedValues) {
    this.shares = new Shares(values);
  }

  add(call: Call): void {
    this.shares.add(call);
    for (const measure of measures) {
      const raw = call[measure] ?? undefined;
      if (raw === undefined) continue;
      const value = measure === 'duration' ? secondsOf(raw) : decimalOf(raw);
      if (value !== undefined && Number.isFinite(value)) this.measured[measure].add(value);
      else this.unreadable[measure] += 1;
    }
  }
}

/** The initial width of a period: one hour. */
const INITIAL_WIDTH_MS = 3_600_000;
const MAX_PERIODS = 240;

export interface Period {
  /** Milliseconds since 1970. */
  readonly start: number;
  readonly shares: Shares;
}

/** Shares in periods of equal width. The width doubles when there are too many periods. */
export class SharesOverTime {
  #width = INITIAL_WIDTH_MS;
  #periods = new Map<number, Shares>();
  readonly #values: CountedValues;

  constructor(values: CountedValues) {
    this.#values = values;
  }

  /** The width of a period in milliseconds. */
  get width(): number {
    return this.#width;
  }

  get periods(): Period[] {
    const ordered = [...this.#periods].sort(([a], [b]) => a - b);
    return ordered.map(([index, shares]) => ({ start: index * this.#width, shares }));
  }

  /** @param start milliseconds since 1970 */
  add(start: number, call: Call): void {
    this.#at(this.#periods, Math.floor(start / this.#width)).add(call);
    while (this.#periods.size > MAX_PERIODS) this.#widen();
  }

  #widen(): void {
    const wider = new Map<number, Shares>();
    for (const [index, shares] of this.#periods) this.#at(wider, Math.floor(index / 2)).merge(shares);
    this.#periods = wider;
    this.#width *= 2;
  }

  #at(periods: Map<number, Shares>, index: number): Shares {
    const found = periods.get(index) ?? new Shares(this.#values);
    periods.set(index, found);
    return found;
  }
}

/** The maximum number of distinct values. Durations in whole seconds stay exact for calls of up to two and a half hours. */
const MAX_DISTINCT = 10_000;
const MAX_DIGITS = 6;

/**
 * Counts how often each number occurs. If there are more than `MAX_DISTINCT` distinct numbers, they are rounded to fewer significant
 * digits, so that memory stays constant. Quantiles are then off by at most half of the last digit.
 */
export class ValueCounts {
  #counts = new Map<number, number>();
  #digits: number | undefined;
  #total = 0;
  #sorted: ReturnType<typeof sorted> | undefined;

  get total(): number {
    return this.#total;
  }

  /** The number of significant digits; undefined if nothing was rounded. */
  get digits(): number | undefined {
    return this.#digits;
  }

  /** @param value a finite number */
  add(value: number): void {
    this.#total += 1;
    this.#sorted = undefined;
    this.#count(value, 1);
    while (this.#counts.size > MAX_DISTINCT && this.#digits !== 1) this.#coarsen();
  }

  #count(value: number, times: number): void {
    const key = this.#digits === undefined ? value : Number(value.toPrecision(this.#digits));
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + times);
  }

  #coarsen(): void {
    this.#digits = this.#digits === undefined ? MAX_DIGITS : this.#digits - 1;
    const before = this.#counts;
    this.#counts = new Map();
    for (const [value, times] of before) this.#count(value, times);
  }

  /** Returns a quantile, interpolated between adjacent values; undefined if there are no values. */
  quantile(part: number): number | undefined {
    if (this.#total === 0) return undefined;
    const position = (this.#total - 1) * part;
    const below = this.#at(Math.floor(position));
    return below + (this.#at(Math.ceil(position)) - below) * (position % 1);
  }

  /** Returns the median with an interval from order statistics; undefined if there are too few values. */
  median(): Estimate | undefined {
    const rank = medianRank(this.#total);
    const value = this.quantile(0.5);
    if (rank === undefined || value === undefined) return undefined;
    return { value, low: this.#at(rank - 1), high: this.#at(this.#total - rank) };
  }

  /** @param index the position in ascending order, starting at 0 */
  #at(index: number): number {
    this.#sorted ??= sorted(this.#counts);
    const { values, ends } = this.#sorted;
    let [low, high] = [0, values.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((ends[middle] ?? 0) > index) high = middle;
      else low = middle + 1;
    }
    return values[low] ?? Number.NaN;
  }
}

/** Returns the values in ascending order, with cumulative counts. */
function sorted(counts: ReadonlyMap<number, number>) {
  const values = [...counts.keys()].sort((a, b) => a - b);
  const ends: number[] = [];
  let end = 0;
  for (const value of values) {
    end += counts.get(value) ?? 0;
    ends.push(end);
  }
  return { values, ends };
}

/** Half the width of the 95 % interval of a normal distribution, in standard deviations. */
const Z = 1.959963984540054;

/** A value with its 95 % interval. */
export interface Estimate {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** Rounds to ten digits, because sums of binary fractions are inexact. Returns null for no value. */
export function rounded(value: number | undefined): number | null {
  return value === undefined ? null : Number(value.toPrecision(10));
}

/** Returns a share with its score interval (Wilson 1927). `total` must be at least 1. */
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
 * Returns the difference of two independent estimates, with an interval that is computed from their intervals (MOVER, Zou and Donner 2008).
 * For two shares, this is the hybrid score interval (Newcombe 1998, method 10).
 */
export function differenceOf(from: Estimate, to: Estimate): Estimate {
  const value = to.value - from.value;
  return {
    value,
    low: value - Math.hypot(to.value - to.low, from.high - from.value),
    high: value + Math.hypot(to.high - to.value, from.value - from.low),
  };
}

/** The maximum number of values for exact ranks. Above it, the normal and the binomial distribution give the same ranks. */
const MAX_EXACT_COUNT = 1000;

/** Returns the rank from either end, from 1, of the values that bound the median with 95 % confidence; undefined below six values. */
export function medianRank(count: number): number | undefined {
  if (count > MAX_EXACT_COUNT) return Math.floor((count - Z * Math.sqrt(count)) / 2);
  let rank = 0;
  let probability = 0.5 ** count;
  for (let below = probability; below <= 0.025; below += probability) {
    rank += 1;
    probability *= (count - rank + 1) / rank;
  }
  return rank === 0 ? undefined : rank;
}
