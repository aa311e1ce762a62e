import type { VersionShown } from '../../kinds/kind.ts';
import { momentOf } from '../../platform/date-range.ts';

/** A version and the time in which it was the latest, in milliseconds since 1970. */
export interface PublishedVersion {
  readonly version: number;
  readonly published_at: string;
  readonly from: number;
  /** The publication of the next version; null for the latest. */
  readonly until: string | null;
}

/** Milliseconds around a publication in which the version of a call is uncertain. */
const UNCLEAR = 60_000;

/** The versions of one record by their times. */
export class PublishedVersions {
  readonly all: readonly PublishedVersion[];
  /** Versions without a time. */
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

  /** The latest version at a time; undefined before the first. */
  at(moment: number): PublishedVersion | undefined {
    return this.all[this.#after(moment) - 1];
  }

  /** True within a minute of a publication. */
  isNearPublication(moment: number): boolean {
    const after = this.#after(moment);
    const [before = Number.NEGATIVE_INFINITY, next = Number.POSITIVE_INFINITY] = [
      this.#starts[after - 1],
      this.#starts[after],
    ];
    return moment - before <= UNCLEAR || next - moment <= UNCLEAR;
  }

  /** The number of versions published by then. */
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
