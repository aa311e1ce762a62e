import { isIPv6 } from 'node:net';

interface WrongTokenLimits {
  /** Milliseconds of a monotonic clock. */
  now(): number;
  /** The limit of wrong tokens per address. */
  readonly each?: number;
  /** The limit for all addresses together. */
  readonly all?: number;
}

const MILLISECONDS = 10 * 60_000;
const MAX_ADDRESSES = 10_000;
const ALL = '';

/** Limits attempts to guess a token. */
export class WrongTokens {
  readonly #limits: Required<WrongTokenLimits>;
  readonly #counts = new Map<string, { count: number; readonly until: number }>();

  constructor({ now, each = 10, all = 300 }: WrongTokenLimits) {
    this.#limits = { now, each, all };
  }

  /** Seconds until this address may try another token; 0 if it may now. */
  wait(address: string | undefined): number {
    const { each, all, now } = this.#limits;
    const until = Math.max(this.#fullUntil(networkOf(address), each), this.#fullUntil(ALL, all));
    return Math.ceil(Math.max(0, until - now()) / 1000);
  }

  /** Must be called before a slow check; call `remove` if the token is right. */
  add(address: string | undefined): void {
    for (const key of [networkOf(address), ALL]) {
      const known = this.#current(key);
      if (known !== undefined) known.count += 1;
      else this.#counts.set(key, { count: 1, until: this.#limits.now() + MILLISECONDS });
    }
    const [oldest] = this.#counts.keys();
    if (this.#counts.size > MAX_ADDRESSES && oldest !== undefined) this.#counts.delete(oldest);
  }

  remove(address: string | undefined): void {
    for (const key of [networkOf(address), ALL]) {
      const known = this.#current(key);
      if (known !== undefined) known.count -= 1;
    }
  }

  #fullUntil(key: string, most: number): number {
    const known = this.#current(key);
    return known !== undefined && known.count >= most ? known.until : 0;
  }

  #current(key: string): { count: number; readonly until: number } | undefined {
    const known = this.#counts.get(key);
    if (known === undefined || known.until > this.#limits.now()) return known;
    this.#counts.delete(key);
    return undefined;
  }
}

/** A single client controls a whole network of IPv6 addresses. */
export function networkOf(address = 'unknown'): string {
  return isIPv6(address) && !address.startsWith('::ffff:') ? address.split(':').slice(0, 4).join(':') : address;
}
