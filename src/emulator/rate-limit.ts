import type { EmulatorBehaviour } from './behaviour.ts';
import { Refusal } from './refusal.ts';

/** Counts requests in windows of fixed length. */
export class RateLimit {
  #windowStart = Number.NEGATIVE_INFINITY;
  #count = 0;

  /** Throws a 429 when the window is used up. */
  admit(limit: EmulatorBehaviour['rateLimit']): void {
    if (limit === null) return;
    const now = Date.now();
    const length = limit.perSeconds * 1000;
    if (now - this.#windowStart >= length) {
      this.#windowStart = now;
      this.#count = 0;
    }
    this.#count += 1;
    if (this.#count <= limit.requests) return;
    const end = this.#windowStart + length;
    throw new Refusal(429, 'Too many requests', { headers: retryAfter(limit.retryAfter, end, end - now) });
  }
}

/** Both forms have whole seconds, so they are rounded up. */
function retryAfter(
  form: 'seconds' | 'date' | 'none',
  end: number,
  remaining: number,
): Record<string, string> {
  if (form === 'none') return {};
  if (form === 'seconds') return { 'retry-after': String(Math.ceil(remaining / 1000)) };
  return { 'retry-after': new Date(Math.ceil(end / 1000) * 1000).toUTCString() };
}
