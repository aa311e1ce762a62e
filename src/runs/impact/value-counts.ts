import { type Estimate, medianRank } from './intervals.ts';

/** How many distinct values are counted one by one. A second of a call of up to two hours and a half is one. */
const MOST_VALUES = 10_000;
const MOST_DIGITS = 6;

/**
 * How often each number occurred: exact as long as there are few distinct ones. Beyond that they are rounded to as many significant
 * digits as keep them few, so that memory does not grow with what is counted, and no quantile is off by more than half of the last digit.
 */
export class ValueCounts {
  #counts = new Map<number, number>();
  #digits: number | undefined;
  #total = 0;
  #sorted: ReturnType<typeof sorted> | undefined;

  get total(): number {
    return this.#total;
  }

  /** Significant digits; undefined where nothing was rounded. */
  get digits(): number | undefined {
    return this.#digits;
  }

  /** @param value finite */
  add(value: number): void {
    this.#total += 1;
    this.#sorted = undefined;
    this.#count(value, 1);
    while (this.#counts.size > MOST_VALUES && this.#digits !== 1) this.#coarsen();
  }

  #count(value: number, times: number): void {
    const key = this.#digits === undefined ? value : Number(value.toPrecision(this.#digits));
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + times);
  }

  #coarsen(): void {
    this.#digits = this.#digits === undefined ? MOST_DIGITS : this.#digits - 1;
    const before = this.#counts;
    this.#counts = new Map();
    for (const [value, times] of before) this.#count(value, times);
  }

  /** The value below which that part of all lies, between two neighbours in proportion; undefined where there is none. */
  quantile(part: number): number | undefined {
    if (this.#total === 0) return undefined;
    const place = (this.#total - 1) * part;
    const below = this.#at(Math.floor(place));
    return below + (this.#at(Math.ceil(place)) - below) * (place % 1);
  }

  /** The median with its interval, of order statistics; undefined where there are too few values for one. */
  median(): Estimate | undefined {
    const rank = medianRank(this.#total);
    const value = this.quantile(0.5);
    if (rank === undefined || value === undefined) return undefined;
    return { value, low: this.#at(rank - 1), high: this.#at(this.#total - rank) };
  }

  /** @param index from 0, in rising order */
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

/** The values in rising order, and how many there are up to each. */
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
