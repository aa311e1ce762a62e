import type { Wait } from '../../src/platform/throttle.ts';

/** A clock that stands still until something waits, and then jumps to its end. */
export class TestClock {
  #time = Date.UTC(2030, 0, 1);
  /** Every wait in milliseconds, in the order of the requests. */
  readonly waits: number[] = [];

  readonly now = (): number => this.#time;

  readonly wait: Wait = async (milliseconds, signal) => {
    if (signal.aborted) throw new Error('aborted');
    this.waits.push(milliseconds);
    this.#time += milliseconds;
  };

  advance(milliseconds: number): void {
    this.#time += milliseconds;
  }
}
