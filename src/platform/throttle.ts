import type { AnswerTime, ConcurrencyLimit } from './concurrency-limit.ts';

/** Waits; rejects as soon as the signal aborts. */
export type Wait = (milliseconds: number, signal: AbortSignal) => Promise<void>;

interface ThrottleOptions {
  /** How many requests may run at once. */
  readonly limit: ConcurrencyLimit;
  /** Null for no limit. */
  readonly requestsPerSecond: number | null;
  /** Longest pause that is waited for, in milliseconds. */
  readonly longestPause: number;
  readonly signal: AbortSignal;
  /** Milliseconds since 1970. */
  now(): number;
  readonly wait: Wait;
}

/** Why a turn was refused: the platform wants a longer pause than anyone will wait for. */
export class PauseTooLong extends Error {
  readonly milliseconds: number;
  /** Of the answer that asked for the pause. */
  readonly status: number;

  constructor(milliseconds: number, status: number) {
    super('the pause is too long');
    this.milliseconds = milliseconds;
    this.status = status;
  }
}

/** What tells the answer to a request from those of other times. */
export interface Turn {
  /** Bursts of 429 before it: only the first of a burst counts. */
  readonly burst: number;
  /** Bursts of timeouts before it. */
  readonly lapse: number;
  /** Of the limit. */
  readonly stamp: number;
}

interface Waiter {
  resolve(turn: Turn): void;
  reject(error: Error): void;
}

/** Hands out turns: no more at once than the limit allows, spaced by the rate, none during a pause. */
export class Throttle {
  readonly #options: ThrottleOptions;
  readonly #interval: number;
  readonly #fresh: Waiter[] = [];
  readonly #again: Waiter[] = [];
  #running = 0;
  #burst = 0;
  #lapse = 0;
  #pausedUntil = 0;
  #pausedBy = 429;
  #nextStart = 0;
  #sleeping = false;
  /** When the platform began to refuse everything; undefined while it does not. */
  #refusingSince: number | undefined;
  /** Bursts since the last success. */
  #refusals = 0;

  constructor(options: ThrottleOptions) {
    this.#options = options;
    this.#interval = options.requestsPerSecond === null ? 0 : 1000 / options.requestsPerSecond;
    options.signal.addEventListener('abort', () => this.#rejectAll(new Error('aborted')), { once: true });
  }

  /** How many turns there may be at once, as of now: no more than may start within a second. */
  get atOnce(): number {
    const { limit, requestsPerSecond } = this.#options;
    return Math.min(limit.now, Math.ceil(requestsPerSecond ?? limit.now));
  }

  /** Bursts of 429 since the last success: how far the backoff has grown. */
  get refusals(): number {
    return this.#refusals;
  }

  /**
   * A turn, at once where one is free. Who tries again goes before who comes first. Rejects with `PauseTooLong`, and with
   * any error when the signal of the throttle or of this turn aborts.
   */
  take(again: boolean, signal?: AbortSignal): Turn | Promise<Turn> {
    if (this.#running < this.#options.limit.now && this.#isIdle() && this.#delay() <= 0) return this.#start();
    const left = this.#hopelessFor();
    if (left > 0) return Promise.reject(new PauseTooLong(left, this.#pausedBy));
    const { promise, resolve, reject } = Promise.withResolvers<Turn>();
    const waiter: Waiter = { resolve, reject };
    (again ? this.#again : this.#fresh).push(waiter);
    const leave = (): void => this.#remove(waiter);
    signal?.addEventListener('abort', leave, { once: true });
    this.#hand();
    return signal === undefined ? promise : promise.finally(() => signal.removeEventListener('abort', leave));
  }

  /** Gives the turn back; to be called exactly once for each turn, after what the answer meant has been said. */
  release(): void {
    this.#running--;
    if (!this.#isIdle()) this.#hand();
  }

  /** An answer that shows that the platform keeps up. */
  succeeded({ stamp }: Turn, time: AnswerTime): void {
    this.#refusals = 0;
    this.#refusingSince = undefined;
    this.#options.limit.answered(stamp, time);
  }

  /** A 429 to the request of this turn. True for the first of its burst, which is the one that counts. */
  refused({ burst }: Turn): boolean {
    if (burst !== this.#burst) return false;
    this.#burst++;
    this.#refusals++;
    this.#options.limit.refused();
    this.#refusingSince ??= this.#options.now();
    return true;
  }

  /** No answer to the request of this turn came in time. */
  timedOut({ lapse }: Turn): void {
    if (lapse !== this.#lapse) return;
    this.#lapse++;
    this.#options.limit.timedOut();
  }

  /**
   * Nothing starts for so long. Where that, or the time for which the platform has done nothing but refuse, is more than
   * the longest pause, everyone who waits is refused, and so is whoever comes before the pause is over.
   */
  pause(milliseconds: number, status: number): void {
    const until = this.#options.now() + milliseconds;
    if (until <= this.#pausedUntil) return;
    this.#pausedUntil = until;
    this.#pausedBy = status;
    const left = this.#hopelessFor();
    if (left > 0) this.#rejectAll(new PauseTooLong(left, this.#pausedBy));
  }

  /** Milliseconds that are left of a pause that is not waited for; 0 where there is none. */
  #hopelessFor(): number {
    if (this.#pausedUntil === 0) return 0;
    const { longestPause } = this.#options;
    const now = this.#options.now();
    const left = this.#pausedUntil - now;
    const refusing = this.#pausedUntil - (this.#refusingSince ?? now);
    return left > longestPause || (left > 0 && refusing > longestPause) ? left : 0;
  }

  #isIdle(): boolean {
    return this.#again.length === 0 && this.#fresh.length === 0;
  }

  #delay(): number {
    if (this.#pausedUntil === 0 && this.#nextStart === 0) return 0;
    return Math.max(this.#pausedUntil, this.#nextStart) - this.#options.now();
  }

  #start(): Turn {
    this.#running++;
    this.#pausedUntil = 0;
    if (this.#interval > 0) this.#nextStart = this.#options.now() + this.#interval;
    return { burst: this.#burst, lapse: this.#lapse, stamp: this.#options.limit.stamp(this.#options.now()) };
  }

  #hand(): void {
    while (this.#running < this.#options.limit.now && !this.#isIdle()) {
      const delay = this.#delay();
      if (delay > 0) {
        this.#sleep(delay);
        return;
      }
      const next = this.#again.shift() ?? this.#fresh.shift();
      next?.resolve(this.#start());
    }
  }

  #remove(waiter: Waiter): void {
    for (const queue of [this.#again, this.#fresh]) {
      const place = queue.indexOf(waiter);
      if (place !== -1) queue.splice(place, 1);
    }
    waiter.reject(new Error('aborted'));
  }

  #sleep(delay: number): void {
    if (this.#sleeping) return;
    this.#sleeping = true;
    const target = Math.max(this.#pausedUntil, this.#nextStart);
    this.#options.wait(Math.ceil(delay), this.#options.signal).then(
      () => {
        this.#sleeping = false;
        // What was waited for is over, whatever a clock that was set back says.
        if (this.#pausedUntil <= target) this.#pausedUntil = 0;
        if (this.#nextStart <= target) this.#nextStart = 0;
        this.#hand();
      },
      (error: unknown) => {
        this.#sleeping = false;
        this.#rejectAll(error instanceof Error ? error : new Error('aborted'));
      },
    );
  }

  #rejectAll(error: Error): void {
    for (const waiter of [...this.#again.splice(0), ...this.#fresh.splice(0)]) waiter.reject(error);
  }
}
