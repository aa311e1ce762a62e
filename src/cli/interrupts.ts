import { ExitCode } from '../problems/user-error.ts';

export type StopSignal = 'SIGINT' | 'SIGTERM';

/**
 * What a person or the system does to end the run. The first signal asks: nothing new is begun. Before a run writes
 * (`patient` false) requests under way are given up as well. The second one is an order, and `now` is called.
 */
export class Interrupts {
  readonly #stop = new AbortController();
  readonly #requests = new AbortController();
  readonly #now: (exitCode: number) => void;
  /** True while requests under way must come to their end. */
  patient = false;

  constructor(now: (exitCode: number) => void) {
    this.#now = now;
  }

  /** Aborted by the first signal; its reason is the signal's name. */
  get stop(): AbortSignal {
    return this.#stop.signal;
  }

  /** Aborted when requests under way are to be given up. */
  get requests(): AbortSignal {
    return this.#requests.signal;
  }

  /** Undefined while no signal has come. */
  get exitCode(): number | undefined {
    if (!this.#stop.signal.aborted) return undefined;
    return this.#stop.signal.reason === 'SIGTERM' ? ExitCode.terminated : ExitCode.interrupted;
  }

  raise(signal: StopSignal): void {
    if (this.#stop.signal.aborted) {
      this.#now(this.exitCode ?? ExitCode.interrupted);
      return;
    }
    this.#stop.abort(signal);
    if (!this.patient) this.#requests.abort(signal);
  }
}
