import type { AnswerTime, ConcurrencyLimit } from './concurrency-limit.ts';
import type { AttemptResult } from './exchange.ts';
import { backoff, isRefusal, pauseOfRefusal } from './retry.ts';

/** Waits; rejects as soon as the signal aborts. */
export type Wait = (milliseconds: number, signal: AbortSignal) => Promise<void>;

interface ThrottleOptions {
  readonly limit: ConcurrencyLimit;
  /** Null for no limit. */
  readonly requestsPerSecond: number | null;
  /** The maximum pause in milliseconds. */
  readonly longestPause: number;
  readonly signal: AbortSignal;
  /** Milliseconds since 1970. */
  now(): number;
  readonly wait: Wait;
  /** Between 0 and 1: the spread of pauses. */
  readonly random: () => number;
  /** Called with one line when a pause of more than a minute begins. */
  readonly onNotice?: ((text: string) => void) | undefined;
}

const ANNOUNCED_PAUSE = 60_000;

/** The platform asks for a longer pause than the limit. */
export class PauseTooLong extends Error {
  readonly milliseconds: number;
  /** The status of the response that asked for the pause. */
  readonly status: number;

  constructor(milliseconds: number, status: number) {
    super('the pause is too long');
    this.milliseconds = milliseconds;
    this.status = status;
  }
}

/** Permission to send one request, with counters that place its response in time. */
export interface Permit {
  /** Bursts of 429 before it: only the first of a burst counts. */
  readonly burst: number;
  /** Bursts of timeouts before it. */
  readonly timeoutBurst: number;
  /** The stamp of the limit. */
  readonly stamp: number;
}

interface Waiter {
  resolve(permit: Permit): void;
  reject(error: Error): void;
}

/** Issues permits within the concurrency limit and the rate, and none during a pause. Both follow the load that responses show. */
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
  #announcedUntil = Number.NEGATIVE_INFINITY;
  #nextStart = 0;
  #sleeping = false;
  /** The time since which the platform refuses all requests, if it does. */
  #refusingSince: number | undefined;
  /** The number of bursts of 429 since the last success, which determines the backoff. */
  #refusals = 0;

  constructor(options: ThrottleOptions) {
    this.#options = options;
    this.#interval = options.requestsPerSecond === null ? 0 : 1000 / options.requestsPerSecond;
    options.signal.addEventListener('abort', () => this.#rejectAll(new Error('aborted')), { once: true });
  }

  /** The maximum number of permits in use: no more than may start within a second. */
  get atOnce(): number {
    const { limit, requestsPerSecond } = this.#options;
    return Math.min(limit.now, Math.ceil(requestsPerSecond ?? limit.now));
  }

  /**
   * A permit, as soon as one is free. Retries come before first attempts. Rejects with `PauseTooLong`, or with any error
   * when the signal of the throttle or of this permit aborts.
   */
  take(again: boolean, signal?: AbortSignal): Permit | Promise<Permit> {
    if (this.#running < this.#options.limit.now && this.#isIdle() && this.#delay() <= 0) return this.#start();
    const left = this.#remainingPause();
    if (left > 0) return Promise.reject(new PauseTooLong(left, this.#pausedBy));
    const { promise, resolve, reject } = Promise.withResolvers<Permit>();
    const waiter: Waiter = { resolve, reject };
    (again ? this.#again : this.#fresh).push(waiter);
    const leave = (): void => this.#remove(waiter);
    signal?.addEventListener('abort', leave, { once: true });
    this.#hand();
    return signal === undefined ? promise : promise.finally(() => signal.removeEventListener('abort', leave));
  }

  /** Returns the permit. Must be called exactly once per permit, after the response was reported. */
  release(): void {
    this.#running--;
    if (!this.#isIdle()) this.#hand();
  }

  /** Reports the result of a request. Must be called before its permit is released. */
  observe(result: AttemptResult, permit: Permit, time: AnswerTime): void {
    const { limit, now, random } = this.#options;
    if (result.type !== 'answer') {
      if (result.reason === 'timeout') this.#timedOut(permit);
      return;
    }
    if (!isRefusal(result.status)) {
      this.#refusals = 0;
      this.#refusingSince = undefined;
      limit.answered(permit.stamp, time);
      return;
    }
    const isFirstOfBurst = result.status === 429 && this.#refused(permit);
    const requested = pauseOfRefusal(result, now());
    if (requested !== undefined) {
      this.#pause(requested, result.status);
      this.#announce(result.status, requested);
    } else if (isFirstOfBurst) this.#pause(backoff(this.#refusals, random), result.status);
  }

  /** Handles a 429. True for the first of its burst, which alone counts. */
  #refused({ burst }: Permit): boolean {
    if (burst !== this.#burst) return false;
    this.#burst++;
    this.#refusals++;
    this.#options.limit.refused();
    this.#refusingSince ??= this.#options.now();
    return true;
  }

  #timedOut({ timeoutBurst }: Permit): void {
    if (timeoutBurst !== this.#lapse) return;
    this.#lapse++;
    this.#options.limit.timedOut();
  }

  #announce(status: number, milliseconds: number): void {
    const { longestPause, now, onNotice } = this.#options;
    if (milliseconds <= ANNOUNCED_PAUSE || milliseconds > longestPause) return;
    const until = now() + milliseconds;
    // Requests in flight at the same time get the same response, a moment apart.
    if (until <= this.#announcedUntil + ANNOUNCED_PAUSE) return;
    this.#announcedUntil = until;
    onNotice?.(`the platform asks for a pause of ${Math.ceil(milliseconds / 1000)} s (status ${status}); waiting`);
  }

  /**
   * Issues no permits for a time. If the pause, or the time since the platform began to refuse all requests, exceeds the longest pause, all
   * waiting and new requests are rejected until the pause ends.
   */
  #pause(milliseconds: number, status: number): void {
    const until = this.#options.now() + milliseconds;
    if (until <= this.#pausedUntil) return;
    this.#pausedUntil = until;
    this.#pausedBy = status;
    const left = this.#remainingPause();
    if (left > 0) this.#rejectAll(new PauseTooLong(left, this.#pausedBy));
  }

  /** The rest, in milliseconds, of a pause that is too long to wait for; 0 for none. */
  #remainingPause(): number {
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

  #start(): Permit {
    this.#running++;
    this.#pausedUntil = 0;
    if (this.#interval > 0) this.#nextStart = this.#options.now() + this.#interval;
    return {
      burst: this.#burst,
      timeoutBurst: this.#lapse,
      stamp: this.#options.limit.stamp(this.#options.now()),
    };
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
        // The wait is over, even if the clock was set back meanwhile.
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
