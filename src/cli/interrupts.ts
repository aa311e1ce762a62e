import { ExitCode, type UserError } from '../problems/user-error.ts';

export type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

/** If npm runs the command, a single Ctrl-C delivers SIGINT twice within this time. */
const SAME_KEYSTROKE_MS = 250;

/**
 * Handles signals. After the first signal, no new work is started. Requests in flight are cancelled unless `finishesRequests` is true.
 * The second signal calls `exitNow`, unless it repeats the first signal within `SAME_KEYSTROKE_MS` or is SIGHUP.
 */
export class Interrupts {
  readonly #stop = new AbortController();
  readonly #requests = new AbortController();
  readonly #exitNow: (exitCode: number) => void;
  readonly #clock: () => number;
  #first: { readonly signal: StopSignal; readonly at: number } | undefined;
  /** True while requests in flight must finish after a signal, because they may write. */
  finishesRequests = false;
  /** If set, SIGHUP calls this function instead of stopping the command. Set by commands that keep running without a terminal. */
  onHangup: (() => void) | undefined;

  /** @param clock returns the milliseconds of a monotonic clock. */
  constructor(exitNow: (exitCode: number) => void, clock: () => number = () => performance.now()) {
    this.#exitNow = exitNow;
    this.#clock = clock;
  }

  /** Aborted by the first signal. The reason is the signal's name (SIGTERM for SIGHUP), or the error that made voxform stop itself. */
  get stop(): AbortSignal {
    return this.#stop.signal;
  }

  /** Aborted when requests in flight must be cancelled. */
  get requests(): AbortSignal {
    return this.#requests.signal;
  }

  /** The exit code for the first signal; undefined if no signal has arrived. */
  get exitCode(): number | undefined {
    if (!this.#stop.signal.aborted) return undefined;
    return this.#stop.signal.reason === 'SIGINT' ? ExitCode.interrupted : ExitCode.terminated;
  }

  /** @param cause the error that made voxform stop itself, if any. */
  raise(signal: StopSignal, cause?: UserError): void {
    if (signal === 'SIGHUP' && this.onHangup !== undefined) {
      this.onHangup();
      return;
    }
    if (this.#first !== undefined) {
      const isRepeated = signal === this.#first.signal && this.#clock() - this.#first.at < SAME_KEYSTROKE_MS;
      if (!isRepeated && signal !== 'SIGHUP') this.#exitNow(this.exitCode ?? ExitCode.interrupted);
      return;
    }
    this.#first = { signal, at: this.#clock() };
    const reason = signal === 'SIGHUP' ? 'SIGTERM' : signal;
    this.#stop.abort(cause ?? reason);
    if (!this.finishesRequests) this.#requests.abort(reason);
  }
}
