import { setTimeout as delay } from 'node:timers/promises';
import { backoff } from '../../../platform/retry.ts';
import { errorMessage } from '../../../problems/error-code.ts';
import { UserError } from '../../../problems/user-error.ts';
import type { StoreUser } from '../backend.ts';
import { WriteConflict } from './object-store.ts';

/* All in milliseconds. The rest of a minute, and of ten seconds after a signal, is for the rescue file and the report. */

/** How long a store that does not answer is tried, by all calls together. */
const TRIED = 58_000;
/** The same for a write after the run was interrupted. */
const TRIED_AT_THE_END = 9_000;
/** Of silence before the user is told. */
const REPORTED_AFTER = 5_000;
/** A run that gave up does not try the store again right after; a watch may, in its next run. */
const SAME_RUN = 1_000;

const BACKOFF = { first: 100, longest: 5_000 };
/** Longest pause that a server may ask for. */
const LONGEST_ASKED = 20_000;

/** A server that cannot answer now. */
export class Busy extends Error {
  override readonly name = 'Busy';
  /** Milliseconds that it asks for. */
  readonly pause: number | undefined;

  constructor(message: string, pause: number | undefined) {
    super(message);
    this.pause = pause;
  }
}

type Attempt<T> = (signal: AbortSignal, attempt: number) => Promise<T>;

interface Reached extends Pick<StoreUser, 'stop' | 'warn'> {
  /** How messages call the state. */
  readonly location: string;
}

export interface Retries {
  /** Ends at once when the run is interrupted, or when the signal aborts. */
  read<T>(work: Attempt<T>, signal?: AbortSignal): Promise<T>;
  /** Continues for a while when the run is interrupted: an outcome must be stored. */
  write<T>(work: Attempt<T>): Promise<T>;
}

/** Makes each call once. */
export const noRetries: Retries = {
  read: (work) => work(new AbortController().signal, 1),
  write: (work) => work(new AbortController().signal, 1),
};

/**
 * Repeats a call, with longer pauses, until the store answers, refuses for good, or was silent for too long. All calls of a run share the
 * time, so that an unreachable store costs it a minute once.
 */
export class RemoteRetries implements Retries {
  readonly #reached: Reached;
  /** When the first attempt began that had no answer yet. */
  #silentSince: number | undefined;
  #stoppedAt: number | undefined;
  #isReported = false;
  #lastError: unknown;
  #gaveUpAt = Number.NEGATIVE_INFINITY;

  constructor(reached: Reached) {
    this.#reached = reached;
  }

  read<T>(work: Attempt<T>, signal?: AbortSignal): Promise<T> {
    const stops = [this.#reached.stop, signal].filter((each) => each !== undefined);
    const stopped = new UserError(`interrupted while the state ${this.#reached.location} was read`);
    return this.#try(work, (deadline) => whenAborted(AbortSignal.any(stops), () => deadline.end(stopped)));
  }

  write<T>(work: Attempt<T>): Promise<T> {
    return this.#try(work, (deadline) =>
      whenAborted(this.#reached.stop, () => {
        this.#stoppedAt ??= performance.now();
        deadline.endAt(Math.max(this.#stoppedAt, this.#silentSince ?? 0) + TRIED_AT_THE_END);
      }),
    );
  }

  async #try<T>(work: Attempt<T>, whenStopped: (deadline: Deadline) => Disposable): Promise<T> {
    const began = performance.now();
    if (began - this.#gaveUpAt < SAME_RUN) throw this.#lastError;
    if (this.#silentSince === undefined) this.#lastError = undefined;
    this.#silentSince ??= began;
    using deadline = new Deadline();
    deadline.endAt(this.#silentSince + TRIED);
    using _ = whenStopped(deadline);
    const notice = setTimeout(() => this.#report(), this.#silentSince + REPORTED_AFTER - began);
    try {
      for (let attempt = 1; ; attempt++) {
        let pause = backoff(attempt, Math.random, BACKOFF);
        try {
          const result = await deadline.race(work(deadline.signal, attempt));
          this.#answered();
          return result;
        } catch (error) {
          if (error instanceof UserError || error instanceof WriteConflict) {
            this.#answered();
            throw error;
          }
          if (error instanceof Busy) pause = Math.max(pause, Math.min(error.pause ?? 0, LONGEST_ASKED));
          const isOver = deadline.signal.aborted;
          if (!isOver || this.#lastError === undefined) this.#lastError = error;
          if (isOver || deadline.left <= pause) throw this.#givenUp();
        }
        const { signal } = deadline;
        await delay(pause, undefined, { signal }).catch(() => {
          throw signal.reason instanceof UserError ? signal.reason : this.#givenUp();
        });
      }
    } finally {
      clearTimeout(notice);
    }
  }

  #answered(): void {
    this.#silentSince = undefined;
    this.#isReported = false;
  }

  #givenUp(): unknown {
    this.#silentSince = undefined;
    this.#gaveUpAt = performance.now();
    return this.#lastError;
  }

  #report(): void {
    if (this.#isReported) return;
    this.#isReported = true;
    const { location, warn } = this.#reached;
    const why = this.#lastError === undefined ? '' : ` (${errorMessage(this.#lastError)})`;
    const left = Math.round((TRIED - REPORTED_AFTER) / 1000);
    warn?.(
      `no answer from the state ${location} for ${REPORTED_AFTER / 1000} s${why}; trying for ${left} s more`,
    );
  }
}

/** Aborts its signal at the earliest of several times. */
class Deadline implements Disposable {
  readonly #controller = new AbortController();
  #deadline = Number.POSITIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get left(): number {
    return this.#deadline - performance.now();
  }

  endAt(moment: number): void {
    this.#deadline = Math.min(this.#deadline, moment);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.end(new Error('it did not answer in time')), Math.max(0, this.left));
  }

  end(why: Error): void {
    this.#controller.abort(why);
  }

  /** Waits for the work until the deadline, also if it ignores the signal. */
  async race<T>(work: Promise<T>): Promise<T> {
    const { promise, reject } = Promise.withResolvers<never>();
    using _ = whenAborted(this.signal, () => reject(this.signal.reason));
    return await Promise.race([work, promise]);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}

/** Acts at once where the signal has aborted already. */
function whenAborted(signal: AbortSignal | undefined, act: () => void): Disposable {
  if (signal?.aborted) act();
  else signal?.addEventListener('abort', act, { once: true });
  return { [Symbol.dispose]: () => signal?.removeEventListener('abort', act) };
}
