import { setTimeout as delay } from 'node:timers/promises';
import { backoff } from '../../../platform/retry.ts';
import { errorMessage } from '../../../problems/error-code.ts';
import { UserError } from '../../../problems/user-error.ts';
import type { StoreUser } from '../backend.ts';
import { WriteConflict } from './object-store.ts';

/* These limits leave time to write the rescue file and the report within a minute, or within ten seconds after an interrupt. */

/** The maximum time for retries while stores do not respond. All calls share this time. */
const GIVE_UP_MS = 58_000;
/** The time for a store after other stores of the same command used up the shared time. */
const LATER_STORE_MS = 5_000;
/** The maximum time for retries of a write after the run was interrupted. */
const GIVE_UP_INTERRUPTED_MS = 9_000;
/** The time without a response after which the user is informed. */
const REPORT_MS = 5_000;
/** After a timeout, calls fail immediately for this time. Later calls belong to the next run of a watch. */
const FAIL_FAST_MS = 1_000;

/** Pauses in milliseconds. */
const BACKOFF = { first: 100, max: 5_000 };
/** The maximum pause that a server may request. */
const MAX_REQUESTED_PAUSE_MS = 20_000;

/** The server is temporarily unavailable. */
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

interface RetryTarget extends Pick<StoreUser, 'stop' | 'warn' | 'outage'> {
  /** Location of the state for messages. */
  readonly location: string;
}

export interface Retries {
  /** Retries a read. Stops immediately when the run is interrupted or the signal aborts. */
  read<T>(work: Attempt<T>, signal?: AbortSignal): Promise<T>;
  /** Retries a write. Continues for a while after the run is interrupted, because an outcome must be stored. */
  write<T>(work: Attempt<T>): Promise<T>;
}

/** Makes each call only once, without retries. */
export const noRetries: Retries = {
  read: (work) => work(new AbortController().signal, 1),
  write: (work) => work(new AbortController().signal, 1),
};

/**
 * Retries a call with backoff until the store responds, refuses permanently, or the timeout has passed. All calls of a run share the
 * timeout, so that an unreachable store delays a run by at most one minute. So do the stores of a command, but for a few seconds each.
 */
export class RemoteRetries implements Retries {
  readonly #target: RetryTarget;
  /** The start of the first attempt since the last response. */
  #unansweredSince: number | undefined;
  #stoppedAt: number | undefined;
  #isReported = false;
  #lastError: unknown;
  #gaveUpAt = Number.NEGATIVE_INFINITY;

  constructor(target: RetryTarget) {
    this.#target = target;
  }

  read<T>(work: Attempt<T>, signal?: AbortSignal): Promise<T> {
    const signals = [this.#target.stop, signal].filter((each) => each !== undefined);
    const interrupted = new UserError(`interrupted while the state ${this.#target.location} was read`);
    return this.#try(work, (deadline) => whenAborted(AbortSignal.any(signals), () => deadline.end(interrupted)));
  }

  write<T>(work: Attempt<T>): Promise<T> {
    return this.#try(work, (deadline) =>
      whenAborted(this.#target.stop, () => {
        this.#stoppedAt ??= performance.now();
        deadline.endAt(Math.max(this.#stoppedAt, this.#unansweredSince ?? 0) + GIVE_UP_INTERRUPTED_MS);
      }),
    );
  }

  async #try<T>(work: Attempt<T>, whenStopped: (deadline: Deadline) => Disposable): Promise<T> {
    const start = performance.now();
    if (start - this.#gaveUpAt < FAIL_FAST_MS) throw this.#lastError;
    if (this.#unansweredSince === undefined) this.#lastError = undefined;
    this.#unansweredSince ??= start;
    using deadline = new Deadline();
    deadline.endAt(this.#unansweredSince + this.#maxMs);
    using _ = whenStopped(deadline);
    const notice = setTimeout(() => this.#report(), this.#unansweredSince + REPORT_MS - start);
    try {
      for (let attempt = 1; ; attempt++) {
        let pause = backoff(attempt, Math.random, BACKOFF);
        try {
          const result = await deadline.race(work(deadline.signal, attempt));
          this.#noteResponse();
          return result;
        } catch (error) {
          if (error instanceof UserError || error instanceof WriteConflict) {
            this.#noteResponse();
            throw error;
          }
          if (error instanceof Busy) pause = Math.max(pause, Math.min(error.pause ?? 0, MAX_REQUESTED_PAUSE_MS));
          const isOver = deadline.signal.aborted;
          if (!isOver || this.#lastError === undefined) this.#lastError = error;
          if (isOver || deadline.remaining <= pause) throw this.#giveUp();
        }
        const { signal } = deadline;
        await delay(pause, undefined, { signal }).catch(() => {
          throw signal.reason instanceof UserError ? signal.reason : this.#giveUp();
        });
      }
    } finally {
      clearTimeout(notice);
    }
  }

  get #maxMs(): number {
    return Math.max(LATER_STORE_MS, GIVE_UP_MS - (this.#target.outage?.milliseconds ?? 0));
  }

  #noteResponse(): void {
    this.#unansweredSince = undefined;
    this.#isReported = false;
  }

  /** Ends the retries. @returns the error to throw. */
  #giveUp(): unknown {
    this.#gaveUpAt = performance.now();
    const { outage } = this.#target;
    if (outage !== undefined) outage.milliseconds += this.#gaveUpAt - (this.#unansweredSince ?? this.#gaveUpAt);
    this.#unansweredSince = undefined;
    return this.#lastError;
  }

  #report(): void {
    if (this.#isReported) return;
    this.#isReported = true;
    const { location, warn } = this.#target;
    const reason = this.#lastError === undefined ? '' : ` (${errorMessage(this.#lastError)})`;
    const remaining = Math.round((this.#maxMs - REPORT_MS) / 1000);
    warn?.(`cannot reach the state ${location}${reason}; retrying for another ${remaining} s`);
  }
}

/** Provides a signal that aborts at the earliest of several times. */
class Deadline implements Disposable {
  readonly #controller = new AbortController();
  #deadline = Number.POSITIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The remaining time in milliseconds. */
  get remaining(): number {
    return this.#deadline - performance.now();
  }

  endAt(time: number): void {
    this.#deadline = Math.min(this.#deadline, time);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.end(new Error('no response in time')), Math.max(0, this.remaining));
  }

  end(reason: Error): void {
    this.#controller.abort(reason);
  }

  /** Waits for the work, but not beyond the deadline, even if the work ignores the signal. */
  async race<T>(work: Promise<T>): Promise<T> {
    const { promise, reject } = Promise.withResolvers<never>();
    using _ = whenAborted(this.signal, () => reject(this.signal.reason));
    return await Promise.race([work, promise]);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}

/** Calls `act` when the signal aborts, or immediately if the signal has already aborted. */
function whenAborted(signal: AbortSignal | undefined, act: () => void): Disposable {
  if (signal?.aborted) act();
  else signal?.addEventListener('abort', act, { once: true });
  return { [Symbol.dispose]: () => signal?.removeEventListener('abort', act) };
}
