import type { VersionShown } from '../../kinds/kind.ts';
import { momentOf } from '../../platform/date-range.ts';

/** A version and when it was the latest. Moments are milliseconds since 1970. */
export interface PublishedVersion {
  readonly version: number;
  readonly published_at: string;
  readonly from: number;
  /** When the next one was published; null for the latest. */
  readonly until: string | null;
}

/** Milliseconds around a publication in which nobody can say which version a call had. */
const UNCLEAR = 60_000;

/** The versions of one record by the time at which they were the latest. */
export class PublishedVersions {
  readonly all: readonly PublishedVersion[];
  /** Those of which the platform shows no time. */
  readonly undated: readonly number[];
  readonly #starts: readonly number[];

  constructor(shown: readonly VersionShown[]) {
    const dated = shown
      .map(({ version, published_at: at }) => ({ version, at: at ?? '', from: momentOf(at ?? '') }))
      .sort((a, b) => a.from - b.from || a.version - b.version);
    const known = dated.filter(({ from }) => !Number.isNaN(from));
    this.undated = dated
      .filter(({ from }) => Number.isNaN(from))
      .map(({ version }) => version)
      .sort((a, b) => a - b);
    this.all = known.map(({ version, at, from }, index) => ({
      version,
      published_at: at,
      from,
      until: known[index + 1]?.at ?? null,
    }));
    this.#starts = known.map(({ from }) => from);
  }

  /** The version that was the latest at a moment; undefined before the first. */
  at(moment: number): PublishedVersion | undefined {
    return this.all[this.#after(moment) - 1];
  }

  /** True where a version was published within a minute of it. */
  isNearPublication(moment: number): boolean {
    const after = this.#after(moment);
    const [before = Number.NEGATIVE_INFINITY, next = Number.POSITIVE_INFINITY] = [
      this.#starts[after - 1],
      this.#starts[after],
    ];
    return moment - before <= UNCLEAR || next - moment <= UNCLEAR;
  }

  /** How many were published by then. */
  #after(moment: number): number {
    let [low, high] = [0, this.#starts.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#starts[middle] ?? 0) <= moment) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
