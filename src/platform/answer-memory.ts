/** A record, and the SHA-256 of its response. */
interface KnownRecord {
  readonly digest: string;
  readonly record: object;
}

/**
 * Caches records by path for repeated reads: a response with the same bytes is neither parsed nor checked again. Records that a whole round
 * did not read are removed.
 */
export class AnswerMemory {
  readonly #known = new Map<string, KnownRecord & { round: number }>();
  #round = 0;

  beginRound(): void {
    for (const [path, { round }] of this.#known) if (round < this.#round) this.#known.delete(path);
    this.#round++;
  }

  get(path: string): KnownRecord | undefined {
    const known = this.#known.get(path);
    if (known !== undefined) known.round = this.#round;
    return known;
  }

  set(path: string, known: KnownRecord): void {
    this.#known.set(path, { ...known, round: this.#round });
  }
}
