import { setImmediate } from 'node:timers/promises';
import { UserError } from '../problems/user-error.ts';

/** Milliseconds that work may delay answers of the platform. */
const LONGEST = 2;

/** Divides long work into slices. The event loop runs between them. */
export class TimeSlices {
  readonly #signal: AbortSignal | undefined;
  #end = performance.now() + LONGEST;

  /** @param signal aborts the work between two slices. */
  constructor(signal?: AbortSignal) {
    this.#signal = signal;
  }

  isOver(): boolean {
    return performance.now() >= this.#end;
  }

  /** @throws UserError if aborted. */
  async next(): Promise<void> {
    await setImmediate();
    // Requests from the previous turn of the event loop are sent only now.
    await setImmediate();
    if (this.#signal?.aborted) throw new UserError('interrupted');
    this.#end = performance.now() + LONGEST;
  }
}
