import { setImmediate } from 'node:timers/promises';
import { UserError } from '../problems/user-error.ts';

/** The maximum duration of a slice. Other work, such as handling a response, waits at most this long. */
const MAX_SLICE_MS = 2;

/** Divides long work into slices, so that the event loop can handle other events between them. */
export class TimeSlices {
  readonly #signal: AbortSignal | undefined;
  #end = performance.now() + MAX_SLICE_MS;

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
    // Requests that began in the previous turn of the event loop are sent in this one.
    await setImmediate();
    if (this.#signal?.aborted) throw new UserError('interrupted');
    this.#end = performance.now() + MAX_SLICE_MS;
  }
}
