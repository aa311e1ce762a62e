import { createHash, randomUUID } from 'node:crypto';

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const TIME_CHARACTERS = 10;
const RANDOM_CHARACTERS = 16;
const SEEDED_START = Date.UTC(2026, 0, 1);

export type Seed = string | number;

/** The position in the sequence of ids and times. The data file stores it, so that a reloaded world continues the sequence. */
export interface SequencePoint {
  /** The time of the latest write, in milliseconds since 1970. */
  readonly time: number;
  /** The number of random strings generated so far. */
  readonly drawn: number;
}

/**
 * Generates the ids and times of a world. With a seed, both are the same in every run, and the clock advances one second per write.
 * Without a seed, ids are random, and the clock follows the system clock but never goes back.
 */
export class IdsAndClock {
  readonly #seed: Seed;
  readonly #isSeeded: boolean;
  #time: number;
  /** The milliseconds by which this clock is ahead of the system clock. */
  #ahead = 0;
  #idTime = 0;
  #drawn: number;

  constructor(seed: Seed | undefined, from?: SequencePoint) {
    this.#isSeeded = seed !== undefined;
    this.#seed = seed ?? randomUUID();
    this.#time = from?.time ?? (this.#isSeeded ? SEEDED_START : Date.now());
    this.#drawn = from?.drawn ?? 0;
    this.skip(0);
  }

  get point(): SequencePoint {
    return { time: this.#time, drawn: this.#drawn };
  }

  /** Advances the clock for a write. Returns the time of the write in milliseconds since 1970. */
  advance(): number {
    this.#time = this.#isSeeded ? this.#time + 1000 : Math.max(this.#time, Date.now() + this.#ahead);
    return this.#time;
  }

  /** Advances the clock by this number of milliseconds. */
  skip(milliseconds: number): void {
    this.#time += milliseconds;
    if (!this.#isSeeded) this.#ahead = Math.max(0, this.#time - Date.now());
  }

  /** Returns a new id of 26 characters in the ULID format. Sorting ids gives the order of their creation. */
  newId(): string {
    this.#idTime = Math.max(this.#time, this.#idTime + 1);
    let time = this.#idTime;
    let text = '';
    for (let i = 0; i < TIME_CHARACTERS; i++) {
      text = ALPHABET.charAt(time % ALPHABET.length) + text;
      time = Math.floor(time / ALPHABET.length);
    }
    return text + this.randomText();
  }

  /** Returns 16 random characters of the id alphabet (80 bits). */
  randomText(): string {
    const bytes = createHash('sha256').update(`${this.#seed}:${this.#drawn}`).digest();
    this.#drawn += 1;
    return Array.from(bytes.subarray(0, RANDOM_CHARACTERS), (byte) => ALPHABET.charAt(byte % 32)).join('');
  }
}

/** Formats a time of an agent, number or webhook: `2026-01-01T00:00:01+00:00`. */
export function offsetTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace(/\.\d{3}Z$/, '+00:00');
}

/** Formats a time of any other record: `2026-01-01T00:00:01.000000Z`. */
export function microsecondTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace(/Z$/, '000Z');
}
