import { setImmediate } from 'node:timers/promises';

/** How long work may keep answers of the platform waiting, in milliseconds: next to nothing of what they took to come. */
const LONGEST = 2;

/** Parts work that takes long into turns, between which everything else has its own. */
export class Turns {
  #end = performance.now() + LONGEST;

  isOver(): boolean {
    return performance.now() >= this.#end;
  }

  async next(): Promise<void> {
    await setImmediate();
    // What came with the turn before lets the next requests go only now.
    await setImmediate();
    this.#end = performance.now() + LONGEST;
  }
}
