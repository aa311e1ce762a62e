import { createHash } from 'node:crypto';

/** Chance that a seed decides, so that a campaign can be run again. */
export class Random {
  readonly seed: string;
  #state: number;

  constructor(seed: string) {
    this.seed = seed;
    this.#state = createHash('sha256').update(seed).digest().readUInt32LE();
  }

  /** At least 0, less than 1: mulberry32. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number, both bounds among them. */
  int(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(list: readonly T[]): T {
    const picked = list[this.int(0, list.length - 1)];
    if (picked === undefined) throw new Error('nothing to pick from');
    return picked;
  }

  /** The same things in another order. */
  shuffled<T>(list: readonly T[]): T[] {
    return list
      .map((each) => ({ each, order: this.next() }))
      .sort((a, b) => a.order - b.order)
      .map(({ each }) => each);
  }

  /** Chance of its own, whatever else is drawn meanwhile. */
  branch(name: string | number): Random {
    return new Random(`${this.seed}/${name}`);
  }
}
