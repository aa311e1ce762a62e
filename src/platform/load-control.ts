import type { AttemptResult } from './attempt-result.ts';
import type { AnswerTime } from './concurrency-limit.ts';
import { backoff, isRefusal, pauseOfRefusal } from './retry.ts';
import type { Throttle, Turn } from './throttle.ts';

interface LoadControlOptions {
  readonly throttle: Throttle;
  /** Longest pause that is waited for, in milliseconds. */
  readonly longestPause: number;
  readonly now: () => number;
  readonly random: () => number;
  readonly onNotice: ((text: string) => void) | undefined;
}

const ANNOUNCED_PAUSE = 60_000;

/** Turns what answers say of the platform's load into pauses and limits for everyone. */
export class LoadControl {
  readonly #options: LoadControlOptions;
  #announcedUntil = Number.NEGATIVE_INFINITY;

  constructor(options: LoadControlOptions) {
    this.#options = options;
  }

  /** To be called before the turn of the request is given back. */
  hear(result: AttemptResult, turn: Turn, time: AnswerTime): void {
    const { throttle, now, random } = this.#options;
    if (result.type !== 'answer') {
      if (result.reason === 'timeout') throttle.timedOut(turn);
      return;
    }
    if (!isRefusal(result.status)) {
      throttle.succeeded(turn, time);
      return;
    }
    const isFirstOfBurst = result.status === 429 && throttle.refused(turn);
    const asked = pauseOfRefusal(result, now());
    if (asked !== undefined) {
      throttle.pause(asked, result.status);
      this.#announce(result.status, asked);
    } else if (isFirstOfBurst) {
      throttle.pause(backoff(throttle.refusals, random), result.status);
    }
  }

  #announce(status: number, milliseconds: number): void {
    if (milliseconds <= ANNOUNCED_PAUSE || milliseconds > this.#options.longestPause) return;
    const until = this.#options.now() + milliseconds;
    // Requests that were under way together are told the same, a moment apart.
    if (until <= this.#announcedUntil + ANNOUNCED_PAUSE) return;
    this.#announcedUntil = until;
    this.#options.onNotice?.(
      `the platform asks for a pause of ${Math.ceil(milliseconds / 1000)} s (status ${status}); waiting`,
    );
  }
}
