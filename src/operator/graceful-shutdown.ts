import type { RunSignals } from '../runs/run-context.ts';
import type { Clock } from './clock.ts';

/** Shuts down a watch. Reads are cancelled at once. Writes may finish within the grace period. */
export class GracefulShutdown implements RunSignals {
  readonly stop: AbortSignal;
  readonly #requests = new AbortController();
  #writing = false;
  #cancel: (() => void) | undefined;
  #overdue = false;

  constructor(stop: AbortSignal, { clock, graceMs }: { readonly clock: Clock; readonly graceMs: number }) {
    this.stop = stop;
    const begin = (): void => {
      if (!this.#writing) this.#requests.abort(stop.reason);
      this.#cancel = clock.after(graceMs, () => {
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

  /** True if the grace period is over. */
  get overdue(): boolean {
    return this.#overdue;
  }

  /** Runs work whose requests may finish within the grace period. */
  async writing<T>(work: () => Promise<T>): Promise<T> {
    this.#writing = true;
    try {
      return await work();
    } finally {
      this.#writing = false;
    }
  }

  done(): void {
    this.#cancel?.();
  }
}
