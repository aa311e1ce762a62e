import { setImmediate } from 'node:timers/promises';
import { UserError } from '../problems/user-error.ts';

/** How long work may keep answers of the platform waiting, in milliseconds: next to nothing of what they took to come. */
const LONGEST = 2;

/** Cuts long work into slices, between which the event loop serves everything else. */
export class TimeSlices {
  readonly #signal: AbortSignal | undefined;
  #end = performance.now() + LONGEST;

  /** @param signal ends the work between two slices. */
  constructor(signal?: AbortSignal) {
    this.#signal = signal;
  }

  isOver(): boolean {
    return performance.now() >= this.#end;
  }

  /** @throws UserError where the signal came. */
  async next(): Promise<void> {
    await setImmediate();
    // What came with the turn before lets the next requests go only now.
    await setImmediate();
    if (this.#signal?.aborted) throw new UserError('interrupted');
    this.#end = performance.now() + LONGEST;
  }
}
