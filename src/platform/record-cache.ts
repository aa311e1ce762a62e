/** A record and the SHA-256 of its response. */
interface CachedRecord {
  readonly digest: string;
  readonly record: object;
}

/** Caches records by path. Equal bytes are not parsed again. Removes records that were not read during a complete round. */
export class RecordCache {
  readonly #known = new Map<string, CachedRecord & { round: number }>();
  #round = 0;

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
    this.#known.set(path, { ...known, round: this.#round });
  }
}
