/** Resources that left the manifests, and since when: one that is missing only for a moment may be in a half-written file. */
export class RemovalDebounce {
  readonly #settledAfter: number;
  readonly #since = new Map<string, number>();

  /** @param settledAfter milliseconds. */
  constructor(settledAfter: number) {
    this.#settledAfter = settledAfter;
  }

  /** The missing addresses that have not been missing for long enough. Reappearing resets the timer. */
  unsettled(missing: readonly string[], now: number): readonly string[] {
    for (const address of this.#since.keys()) if (!missing.includes(address)) this.#since.delete(address);
    return missing.filter((address) => {
      const since = this.#since.get(address) ?? now;
      this.#since.set(address, since);
      return now - since < this.#settledAfter;
    });
  }
}
