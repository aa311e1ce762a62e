/** A record, and the SHA-256 of the answer that it was read from. */
interface KnownRecord {
  readonly digest: string;
  readonly record: object;
}

/**
 * Records by the paths that they were read from, for one who reads them again and again: of an answer with the same bytes, the record is
 * neither parsed nor checked anew. Those that a whole round did not ask for are forgotten.
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
