import { ExitCode } from '../problems/user-error.ts';

export type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

/** Milliseconds. One Ctrl-C reaches a command twice when npm, which has it too, hands it on. */
const SAME_KEYSTROKE = 250;

/**
 * What a person or the system does to end the run. The first signal asks: nothing new is begun. Before a run writes
 * (`patient` false) requests under way are given up as well. The second one is an order, and `now` is called; but not for
 * a signal that only repeats the first at once, nor for a terminal that goes on closing.
 */
export class Interrupts {
  readonly #stop = new AbortController();
  readonly #requests = new AbortController();
  readonly #now: (exitCode: number) => void;
  readonly #clock: () => number;
  #first: { readonly signal: StopSignal; readonly at: number } | undefined;
  /** True while requests under way must come to their end. */
  patient = false;
  /** Called for SIGHUP instead of ending, by a command that goes on without a terminal. */
  onHangup: (() => void) | undefined;

  /** `clock` gives milliseconds that are never set back. */
  constructor(now: (exitCode: number) => void, clock: () => number = () => performance.now()) {
    this.#now = now;
    this.#clock = clock;
  }

  /** Aborted by the first signal; its reason is the signal's name, SIGTERM for a terminal that was closed. */
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
    if (signal === 'SIGHUP' && this.onHangup !== undefined) {
      this.onHangup();
      return;
    }
    if (this.#first !== undefined) {
      const isRepeated = signal === this.#first.signal && this.#clock() - this.#first.at < SAME_KEYSTROKE;
      if (!isRepeated && signal !== 'SIGHUP') this.#now(this.exitCode ?? ExitCode.interrupted);
      return;
    }
    this.#first = { signal, at: this.#clock() };
    const reason = signal === 'SIGHUP' ? 'SIGTERM' : signal;
    this.#stop.abort(reason);
    if (!this.patient) this.#requests.abort(reason);
  }
}
