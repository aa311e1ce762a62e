import type { AnswerTime } from './concurrency-limit.ts';
import type { AttemptResult } from './exchange.ts';
import { backoff, isRefusal, pauseOfRefusal } from './retry.ts';
import type { Permit, Throttle } from './throttle.ts';

interface LoadControlOptions {
  readonly throttle: Throttle;
  /** The maximum pause in milliseconds. */
  readonly longestPause: number;
  readonly now: () => number;
  readonly random: () => number;
  readonly onNotice: ((text: string) => void) | undefined;
}

const ANNOUNCED_PAUSE = 60_000;

/** Derives pauses and limits for all requests from the load that responses show. */
export class LoadControl {
  readonly #options: LoadControlOptions;
  #announcedUntil = Number.NEGATIVE_INFINITY;

  constructor(options: LoadControlOptions) {
    this.#options = options;
  }

  /** Must be called before the permit of the request is released. */
  observe(result: AttemptResult, permit: Permit, time: AnswerTime): void {
    const { throttle, now, random } = this.#options;
    if (result.type !== 'answer') {
      if (result.reason === 'timeout') throttle.timedOut(permit);
      return;
    }
    if (!isRefusal(result.status)) {
      throttle.succeeded(permit, time);
      return;
    }
    const isFirstOfBurst = result.status === 429 && throttle.refused(permit);
    const requested = pauseOfRefusal(result, now());
    if (requested !== undefined) {
      throttle.pause(requested, result.status);
      this.#announce(result.status, requested);
    } else if (isFirstOfBurst) {
      throttle.pause(backoff(throttle.refusals, random), result.status);
    }
  }

  #announce(status: number, milliseconds: number): void {
    if (milliseconds <= ANNOUNCED_PAUSE || milliseconds > this.#options.longestPause) return;
    const until = this.#options.now() + milliseconds;
    // Requests in flight at the same time get the same response, a moment apart.
    if (until <= this.#announcedUntil + ANNOUNCED_PAUSE) return;
    this.#announcedUntil = until;
    this.#options.onNotice?.(
      `the platform asks for a pause of ${Math.ceil(milliseconds / 1000)} s (status ${status}); waiting`,
    );
  }
}

export interface Flight {
  readonly since: number;
  /** Sum of the durations of all requests until then, in milliseconds. */
  readonly before: number;
}

/** Tracks the mean number of requests in flight. */
export class InFlight {
  readonly #now: () => number;
  #count = 0;
  /** Sum of the durations of all requests until `#at`, in milliseconds. */
  #sum = 0;
  #at = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  begin(): Flight {
    this.#advance();
    this.#count++;
    return { since: this.#at, before: this.#sum };
  }

  /** The mean number of requests in flight since this one began, including itself. Must be called exactly once. */
  end({ since, before }: Flight): number {
    this.#advance();
    const mean = this.#at > since ? (this.#sum - before) / (this.#at - since) : this.#count;
    this.#count--;
    return mean;
  }

  #advance(): void {
    const now = this.#now();
    this.#sum += this.#count * (now - this.#at);
    this.#at = now;
  }
}
