import { type Json, lengthOfPart, totalSize } from '../values/json.ts';

/** A record and the SHA-256 of its response. */
interface CachedRecord {
  readonly digest: string;
  readonly record: object;
}

/** Caches records by path. Equal bytes are not parsed again. Removes records that were not read during a complete round. */
export class RecordCache {
  readonly #known = new Map<string, CachedRecord & { readonly characters: number; round: number }>();
  #round = 0;

  /** The number of characters of the cached records. */
  get characters(): number {
    return [...this.#known.values()].reduce((sum, { characters }) => sum + characters, 0);
  }

  beginRound(): void {
    for (const [path, { round }] of this.#known) if (round < this.#round) this.#known.delete(path);
    this.#round++;
  }

  get(path: string): CachedRecord | undefined {
    const known = this.#known.get(path);
    if (known !== undefined) known.round = this.#round;
    return known;
  }

  set(path: string, known: CachedRecord): void {
    const characters = totalSize(known.record as Json, Number.POSITIVE_INFINITY, lengthOfPart);
    this.#known.set(path, { ...known, characters, round: this.#round });
  }
}
