import type { ConcurrencyLimit, ResponseTime } from './concurrency-limit.ts';
import type { AttemptResult } from './exchange.ts';
import { backoff, isRefusal, pauseOfRefusal } from './retry.ts';

/** Waits for a number of milliseconds. Rejects as soon as the signal aborts. */
export type Wait = (milliseconds: number, signal: AbortSignal) => Promise<void>;

interface ThrottleOptions {
  readonly limit: ConcurrencyLimit;
  /** The maximum rate, or null for no limit. */
  readonly requestsPerSecond: number | null;
  /** The maximum length of a pause. */
  readonly maxPauseMs: number;
  readonly signal: AbortSignal;
  /** Returns the time in milliseconds since 1970. */
  now(): number;
  readonly wait: Wait;
  /** Returns a random number between 0 and 1, which varies the pauses. */
  readonly random: () => number;
  /** Called with one line when a pause of more than a minute begins. */
  readonly onNotice?: ((text: string) => void) | undefined;
}

const MIN_ANNOUNCED_PAUSE_MS = 60_000;

/** Thrown for a request during a pause that is longer than the maximum. */
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

/** The permission to send one request. Its counters are compared with the current ones when the response arrives. */
export interface Permit {
  /** The number of bursts of 429 before the request. Only the first 429 of a burst counts. */
  readonly burst: number;
  /** The number of bursts of timeouts before the request. */
  readonly timeoutBurst: number;
  /** The result of `ConcurrencyLimit.stamp`. */
  readonly stamp: number;
}

interface Waiter {
  resolve(permit: Permit): void;
  reject(error: Error): void;
}

/** Issues permits within the concurrency limit and the rate, and none during a pause. The limit and the pauses depend on the responses. */
export class Throttle {
  readonly #options: ThrottleOptions;
  readonly #interval: number;
  readonly #firstAttempts: Waiter[] = [];
  readonly #retries: Waiter[] = [];
  #running = 0;
  #burst = 0;
  #timeoutBurst = 0;
  #pausedUntil = 0;
  #pauseStatus = 429;
  #announcedUntil = Number.NEGATIVE_INFINITY;
  #nextStart = 0;
  #isSleeping = false;
  /** The time at which the platform began to refuse all requests. Undefined if requests succeed. */
  #refusingSince: number | undefined;
  /** The number of bursts of 429 since the last success, which determines the backoff. */
  #refusals = 0;

  constructor(options: ThrottleOptions) {
    this.#options = options;
    this.#interval = options.requestsPerSecond === null ? 0 : 1000 / options.requestsPerSecond;
    options.signal.addEventListener('abort', () => this.#rejectAll(new Error('aborted')), { once: true });
  }

  /** The maximum number of permits in use, at most the number of requests that may start in one second. */
  get atOnce(): number {
    const { limit, requestsPerSecond } = this.#options;
    return Math.min(limit.now, Math.ceil(requestsPerSecond ?? limit.now));
  }

  /**
   * Returns a permit as soon as one is available. Retries take precedence over first attempts. Rejects with `PauseTooLong`, or with any
   * error when the signal of the throttle or of this permit aborts.
   */
  take(isRetry: boolean, signal?: AbortSignal): Permit | Promise<Permit> {
    if (this.#running < this.#options.limit.now && this.#isQueueEmpty() && this.#delay() <= 0) return this.#start();
    const remaining = this.#remainingPause();
    if (remaining > 0) return Promise.reject(new PauseTooLong(remaining, this.#pauseStatus));
    const { promise, resolve, reject } = Promise.withResolvers<Permit>();
    const waiter: Waiter = { resolve, reject };
    (isRetry ? this.#retries : this.#firstAttempts).push(waiter);
    const stopWaiting = (): void => this.#remove(waiter);
    signal?.addEventListener('abort', stopWaiting, { once: true });
    this.#issuePermits();
    return signal === undefined ? promise : promise.finally(() => signal.removeEventListener('abort', stopWaiting));
  }

  /** Releases a permit. Must be called exactly once per permit, after the result was reported. */
  release(): void {
    this.#running--;
    if (!this.#isQueueEmpty()) this.#issuePermits();
  }

  /** Reports the result of a request. Must be called before its permit is released. */
  observe(result: AttemptResult, permit: Permit, time: ResponseTime): void {
    const { limit, now, random } = this.#options;
    if (result.type !== 'response') {
      if (result.reason === 'timeout') this.#timedOut(permit);
      return;
    }
    if (!isRefusal(result.status)) {
      this.#refusals = 0;
      this.#refusingSince = undefined;
      limit.onResponse(permit.stamp, time);
      return;
    }
    const isFirstOfBurst = result.status === 429 && this.#refused(permit);
    const requested = pauseOfRefusal(result, now());
    if (requested !== undefined) {
      this.#pause(requested, result.status);
      this.#announce(result.status, requested);
    } else if (isFirstOfBurst) this.#pause(backoff(this.#refusals, random), result.status);
  }

  /** Handles a 429. Returns true for the first 429 of a burst, the only one that counts. */
  #refused({ burst }: Permit): boolean {
    if (burst !== this.#burst) return false;
    this.#burst++;
    this.#refusals++;
    this.#options.limit.onRefusal();
    this.#refusingSince ??= this.#options.now();
    return true;
  }

  #timedOut({ timeoutBurst }: Permit): void {
    if (timeoutBurst !== this.#timeoutBurst) return;
    this.#timeoutBurst++;
    this.#options.limit.onTimeout();
  }

  #announce(status: number, milliseconds: number): void {
    const { maxPauseMs, now, onNotice } = this.#options;
    if (milliseconds <= MIN_ANNOUNCED_PAUSE_MS || milliseconds > maxPauseMs) return;
    const until = now() + milliseconds;
    // Other requests in flight get the same response a moment later.
    if (until <= this.#announcedUntil + MIN_ANNOUNCED_PAUSE_MS) return;
    this.#announcedUntil = until;
    onNotice?.(`the platform asks for a pause of ${Math.ceil(milliseconds / 1000)} s (status ${status}); waiting`);
  }

  /**
   * Stops issuing permits for this time. If the pause, or the time since the platform began to refuse all requests, exceeds the maximum
   * pause, rejects all waiting and new requests until the pause ends.
   */
  #pause(milliseconds: number, status: number): void {
    const until = this.#options.now() + milliseconds;
    if (until <= this.#pausedUntil) return;
    this.#pausedUntil = until;
    this.#pauseStatus = status;
    const remaining = this.#remainingPause();
    if (remaining > 0) this.#rejectAll(new PauseTooLong(remaining, this.#pauseStatus));
  }

  /** Returns the remaining milliseconds of a pause that is too long to wait for, or 0. */
  #remainingPause(): number {
    if (this.#pausedUntil === 0) return 0;
    const { maxPauseMs } = this.#options;
    const now = this.#options.now();
    const remaining = this.#pausedUntil - now;
    const refusalMs = this.#pausedUntil - (this.#refusingSince ?? now);
    return remaining > maxPauseMs || (remaining > 0 && refusalMs > maxPauseMs) ? remaining : 0;
  }

  #isQueueEmpty(): boolean {
    return this.#retries.length === 0 && this.#firstAttempts.length === 0;
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
      timeoutBurst: this.#timeoutBurst,
      stamp: this.#options.limit.stamp(this.#options.now()),
    };
  }

  #issuePermits(): void {
    while (this.#running < this.#options.limit.now && !this.#isQueueEmpty()) {
      const delay = this.#delay();
      if (delay > 0) {
        this.#sleep(delay);
        return;
      }
      const next = this.#retries.shift() ?? this.#firstAttempts.shift();
      next?.resolve(this.#start());
    }
  }

  #remove(waiter: Waiter): void {
    for (const queue of [this.#retries, this.#firstAttempts]) {
      const index = queue.indexOf(waiter);
      if (index !== -1) queue.splice(index, 1);
    }
    waiter.reject(new Error('aborted'));
  }

  #sleep(delay: number): void {
    if (this.#isSleeping) return;
    this.#isSleeping = true;
    const target = Math.max(this.#pausedUntil, this.#nextStart);
    this.#options.wait(Math.ceil(delay), this.#options.signal).then(
      () => {
        this.#isSleeping = false;
        // The wait is over, even if the clock was set back meanwhile.
        if (this.#pausedUntil <= target) this.#pausedUntil = 0;
        if (this.#nextStart <= target) this.#nextStart = 0;
        this.#issuePermits();
      },
      (error: unknown) => {
        this.#isSleeping = false;
        this.#rejectAll(error instanceof Error ? error : new Error('aborted'));
      },
    );
  }

  #rejectAll(error: Error): void {
    for (const waiter of [...this.#retries.splice(0), ...this.#firstAttempts.splice(0)]) waiter.reject(error);
  }
}
