import { setTimeout as delay } from 'node:timers/promises';
import { backoff } from '../../../platform/retry.ts';
import { errorMessage } from '../../../problems/error-code.ts';
import { UserError } from '../../../problems/user-error.ts';
import type { StoreUser } from '../backend.ts';
import { WriteConflict } from './object-store.ts';

/* All in milliseconds. The remaining part of a minute, or of ten seconds after a signal, is for the rescue file and the report. */

/** Retries of an unresponsive store end after this time, for all calls together. */
const GIVE_UP_AFTER = 58_000;
/** The same for a write after the run was interrupted. */
const GIVE_UP_AFTER_INTERRUPT = 9_000;
/** The time without an answer before the user is informed. */
const REPORTED_AFTER = 5_000;
/** After giving up, retries begin again only after this time, which means in the next run of a watch. */
const SAME_RUN = 1_000;

const BACKOFF = { first: 100, longest: 5_000 };
/** The longest pause that a server may ask for. */
const LONGEST_ASKED = 20_000;

/** A server that is temporarily unavailable. */
export class Busy extends Error {
  override readonly name = 'Busy';
  /** The requested pause in milliseconds. */
  readonly pause: number | undefined;

  constructor(message: string, pause: number | undefined) {
    super(message);
    this.pause = pause;
  }
}

type Attempt<T> = (signal: AbortSignal, attempt: number) => Promise<T>;

interface RetryTarget extends Pick<StoreUser, 'stop' | 'warn'> {
  /** Location of the state for messages. */
  readonly location: string;
}

export interface Retries {
  /** Stops immediately when the run is interrupted or the signal aborts. */
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
 * Retries a call with growing pauses until the store answers, refuses permanently, or the timeout is over. All calls of a run share the
 * timeout, so that an unreachable store costs a run at most one minute.
 */
export class RemoteRetries implements Retries {
  readonly #target: RetryTarget;
  /** The start of the first attempt without an answer. */
  #silentSince: number | undefined;
  #stoppedAt: number | undefined;
  #isReported = false;
  #lastError: unknown;
  #gaveUpAt = Number.NEGATIVE_INFINITY;

  constructor(target: RetryTarget) {
    this.#target = target;
  }

  read<T>(work: Attempt<T>, signal?: AbortSignal): Promise<T> {
    const stops = [this.#target.stop, signal].filter((each) => each !== undefined);
    const stopped = new UserError(`interrupted while the state ${this.#target.location} was read`);
    return this.#try(work, (deadline) => whenAborted(AbortSignal.any(stops), () => deadline.end(stopped)));
  }

  write<T>(work: Attempt<T>): Promise<T> {
    return this.#try(work, (deadline) =>
      whenAborted(this.#target.stop, () => {
        this.#stoppedAt ??= performance.now();
        deadline.endAt(Math.max(this.#stoppedAt, this.#silentSince ?? 0) + GIVE_UP_AFTER_INTERRUPT);
      }),
    );
  }

  async #try<T>(work: Attempt<T>, whenStopped: (deadline: Deadline) => Disposable): Promise<T> {
    const began = performance.now();
    if (began - this.#gaveUpAt < SAME_RUN) throw this.#lastError;
    if (this.#silentSince === undefined) this.#lastError = undefined;
    this.#silentSince ??= began;
    using deadline = new Deadline();
    deadline.endAt(this.#silentSince + GIVE_UP_AFTER);
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
    const { location, warn } = this.#target;
    const why = this.#lastError === undefined ? '' : ` (${errorMessage(this.#lastError)})`;
    const left = Math.round((GIVE_UP_AFTER - REPORTED_AFTER) / 1000);
    warn?.(`no answer from the state ${location} for ${REPORTED_AFTER / 1000} s${why}; trying for ${left} s more`);
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

/** Acts immediately if the signal has already aborted. */
function whenAborted(signal: AbortSignal | undefined, act: () => void): Disposable {
  if (signal?.aborted) act();
  else signal?.addEventListener('abort', act, { once: true });
  return { [Symbol.dispose]: () => signal?.removeEventListener('abort', act) };
}
