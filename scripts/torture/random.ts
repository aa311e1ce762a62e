import { createHash } from 'node:crypto';

/** Random numbers from a seed, so that a campaign can be repeated. */
export class Random {
  readonly seed: string;
  #state: number;

  constructor(seed: string) {
    this.seed = seed;
    this.#state = createHash('sha256').update(seed).digest().readUInt32LE();
  }

  /** Returns a number from 0 to below 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** Returns an integer from `min` to `max`, both inclusive. */
  int(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(list: readonly T[]): T {
    const picked = list[this.int(0, list.length - 1)];
    if (picked === undefined) throw new Error('the list is empty');
    return picked;
  }

  /** Returns a shuffled copy. */
  shuffled<T>(list: readonly T[]): T[] {
    return list
      .map((each) => ({ each, order: this.next() }))
      .sort((a, b) => a.order - b.order)
      .map(({ each }) => each);
  }

  /** Returns an independent generator, whose seed is derived from this one and the name. */
  branch(name: string | number): Random {
    return new Random(`${this.seed}/${name}`);
  }
}
