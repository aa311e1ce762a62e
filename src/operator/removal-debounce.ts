/** Resources that manifests no longer declare, and since when: one that is missing for a moment only may stand in a file that is being written. */
export class RemovalDebounce {
  readonly #settledAfter: number;
  readonly #since = new Map<string, number>();

  /** @param settledAfter milliseconds. */
  constructor(settledAfter: number) {
    this.#settledAfter = settledAfter;
  }

  /** Those of the missing addresses that have not been missing for long enough. Who came back starts anew. */
  unsettled(missing: readonly string[], now: number): readonly string[] {
    for (const address of this.#since.keys()) if (!missing.includes(address)) this.#since.delete(address);
    return missing.filter((address) => {
      const since = this.#since.get(address) ?? now;
      this.#since.set(address, since);
      return now - since < this.#settledAfter;
    });
  }
}
