import { type Estimate, medianRank } from './intervals.ts';

/** The maximum number of distinct values. Each second is one, up to calls of two and a half hours. */
const MOST_VALUES = 10_000;
const MOST_DIGITS = 6;

/**
 * Counts how often each number occurs: exactly, as long as there are few distinct ones. Beyond that, numbers are rounded to fewer
 * significant digits, so that memory stays constant and quantiles are off by at most half of the last digit.
 */
export class ValueCounts {
  #counts = new Map<number, number>();
  #digits: number | undefined;
  #total = 0;
  #sorted: ReturnType<typeof sorted> | undefined;

  get total(): number {
    return this.#total;
  }

  /** Significant digits; undefined if nothing was rounded. */
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

  /** The quantile, interpolated between neighbours; undefined without values. */
  quantile(part: number): number | undefined {
    if (this.#total === 0) return undefined;
    const place = (this.#total - 1) * part;
    const below = this.#at(Math.floor(place));
    return below + (this.#at(Math.ceil(place)) - below) * (place % 1);
  }

  /** The median with its interval from order statistics; undefined for too few values. */
  median(): Estimate | undefined {
    const rank = medianRank(this.#total);
    const value = this.quantile(0.5);
    if (rank === undefined || value === undefined) return undefined;
    return { value, low: this.#at(rank - 1), high: this.#at(this.#total - rank) };
  }

  /** @param index starts at 0, in rising order */
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

/** The values in rising order, with cumulative counts. */
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
