import { AdaptiveLimit } from './adaptive-limit.ts';
import type { Concurrency, ConcurrencyLimit } from './concurrency-limit.ts';

export function limitFor(concurrency: Concurrency): ConcurrencyLimit {
  return concurrency === 'auto' ? new AdaptiveLimit(busyShare()) : new FixedLimit(concurrency);
}

/** Returns the CPU share of this thread since the last call. */
function busyShare(): () => number {
  let last = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    return utilization;
  };
}

/** Each increase requires this number of successes, or as many as the current limit if that is higher. */
const SUCCESSES_PER_STEP = 10;

/** A configured limit. Each refusal halves the current limit, and successes raise it again in steps of one. */
class FixedLimit implements ConcurrencyLimit {
  readonly #max: number;
  #now: number;
  #successes = 0;

  constructor(max: number) {
    this.#max = max;
    this.#now = max;
  }

  get now(): number {
    return this.#now;
  }

  stamp(): number {
    return 0;
  }

  onResponse(): void {
    if (this.#now >= this.#max || ++this.#successes < Math.max(SUCCESSES_PER_STEP, this.#now)) return;
    this.#successes = 0;
    this.#now++;
  }

  onRefusal(): void {
    this.#successes = 0;
    this.#now = Math.max(1, Math.floor(this.#now / 2));
  }

  onTimeout(): void {}
}
