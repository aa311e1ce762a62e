import type { RunSignals } from '../runs/run-context.ts';
import type { Clock } from './clock.ts';

/**
 * How a watch ends. What only reads is given up at once; what writes finishes what is under way, as long as the grace period lasts.
 */
export class GracefulShutdown implements RunSignals {
  readonly stop: AbortSignal;
  readonly #requests = new AbortController();
  #writing = false;
  #cancel: (() => void) | undefined;
  #overdue = false;

  constructor(stop: AbortSignal, { clock, grace }: { readonly clock: Clock; readonly grace: number }) {
    this.stop = stop;
    const begin = (): void => {
      if (!this.#writing) this.#requests.abort(stop.reason);
      this.#cancel = clock.after(grace, () => {
        this.#overdue = true;
        this.#requests.abort(stop.reason);
      });
    };
    if (stop.aborted) begin();
    else stop.addEventListener('abort', begin, { once: true });
  }

  get requests(): AbortSignal {
    return this.#requests.signal;
  }

  /** True once the grace period is over. */
  get overdue(): boolean {
    return this.#overdue;
  }

  /** Does work whose requests must come to their end. */
  async writing<T>(work: () => Promise<T>): Promise<T> {
    this.#writing = true;
    try {
      return await work();
    } finally {
      this.#writing = false;
    }
  }

  /** Lets go of the timer. */
  done(): void {
    this.#cancel?.();
  }
}
