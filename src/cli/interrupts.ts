import { ExitCode, type UserError } from '../problems/user-error.ts';

export type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

/** Milliseconds. If npm runs the command, one Ctrl-C arrives twice. */
const SAME_KEYSTROKE = 250;

/**
 * Handles signals. After the first one nothing new is started. Before a run writes (`patient` false), requests in flight are cancelled
 * too. The second one calls `now`, unless it repeats the first at once, or comes from a closing terminal.
 */
export class Interrupts {
  readonly #stop = new AbortController();
  readonly #requests = new AbortController();
  readonly #now: (exitCode: number) => void;
  readonly #clock: () => number;
  #first: { readonly signal: StopSignal; readonly at: number } | undefined;
  /** True while requests in flight must finish. */
  patient = false;
  /** Called for SIGHUP instead of stopping, by a command that continues without a terminal. */
  onHangup: (() => void) | undefined;

  /** `clock` gives milliseconds of a monotonic clock. */
  constructor(now: (exitCode: number) => void, clock: () => number = () => performance.now()) {
    this.#now = now;
    this.#clock = clock;
  }

  /** Aborted by the first signal. Its reason is the signal's name, SIGTERM for a closed terminal, or why voxform itself stops. */
  get stop(): AbortSignal {
    return this.#stop.signal;
  }

  /** Aborted when requests in flight must be cancelled. */
  get requests(): AbortSignal {
    return this.#requests.signal;
  }

  /** Undefined before the first signal. */
  get exitCode(): number | undefined {
    if (!this.#stop.signal.aborted) return undefined;
    return this.#stop.signal.reason === 'SIGINT' ? ExitCode.interrupted : ExitCode.terminated;
  }

  /** @param because why voxform itself stops the command. */
  raise(signal: StopSignal, because?: UserError): void {
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
    this.#stop.abort(because ?? reason);
    if (!this.patient) this.#requests.abort(reason);
  }
}
