import { setTimeout as delay } from 'node:timers/promises';
import type { Context } from 'hono';
import { streamSSE } from 'hono/streaming';

interface LiveOptions {
  version(address: string | undefined): Promise<string>;
  /** Milliseconds between two looks. */
  readonly every: number;
}

/** More open pages than this are asked to come back later, of all and of one visitor. */
const MOST_STREAMS = 200;
const MOST_EACH = 50;
/** Milliseconds: so often a page hears something, and knows that the connection is there. */
const PING = 15_000;
/** A stream ends after so long, and the page begins another. */
const LONGEST = 30 * 60_000;

/** Tells open pages when what they show has changed. A stream that begins says where it is, so that nothing is missed. */
export class LiveUpdates {
  readonly #options: LiveOptions;
  readonly #closing = new AbortController();
  readonly #looks = new Map<string, { readonly until: number; readonly version: Promise<string> }>();
  /** Whose each open stream is. */
  readonly #streams: string[] = [];

  constructor(options: LiveOptions) {
    this.#options = options;
  }

  /** @param whose a person, or an address. */
  isFull(whose: string): boolean {
    return (
      this.#streams.length >= MOST_STREAMS ||
      this.#streams.filter((each) => each === whose).length >= MOST_EACH
    );
  }

  close(): void {
    this.#closing.abort();
  }

  stream(c: Context, address: string | undefined, { whose, isAllowed }: Following): Response {
    this.#streams.push(whose);
    return streamSSE(c, async (stream) => {
      const ended = new AbortController();
      const end = (): void => ended.abort();
      stream.onAbort(end);
      this.#closing.signal.addEventListener('abort', end, { once: true });
      try {
        await this.#follow(address, {
          signal: ended.signal,
          isAllowed,
          write: (event) => stream.writeSSE(event),
        });
      } catch {
        // Such as a database that cannot be reached: the page says that the connection is gone, and its next request why.
      } finally {
        this.#streams.splice(this.#streams.indexOf(whose), 1);
        this.#closing.signal.removeEventListener('abort', end);
      }
    });
  }

  async #follow(address: string | undefined, { signal, isAllowed, write }: Follower): Promise<void> {
    const began = performance.now();
    let said: string | undefined;
    let heardAt = began;
    let isWritten = true;
    while (!signal.aborted && performance.now() - began < LONGEST) {
      const version = await this.version(address);
      const isPingDue = performance.now() - heardAt >= PING;
      // Nobody reads what was written that long ago.
      if (isPingDue && !(isWritten && (await isAllowed()))) return;
      if (isWritten && (version !== said || isPingDue)) {
        const event = version === said ? { event: 'ping', data: '' } : { event: 'version', data: version };
        isWritten = false;
        void write(event).then(() => {
          isWritten = true;
        });
        said = version;
        heardAt = performance.now();
      }
      await delay(this.#options.every, undefined, { signal }).catch(() => undefined);
    }
  }

  /** One look for all who ask within the time between two. */
  version(address: string | undefined): Promise<string> {
    const now = performance.now();
    for (const [key, { until }] of this.#looks) if (until <= now) this.#looks.delete(key);
    const known = this.#looks.get(address ?? '');
    if (known !== undefined) return known.version;
    const version = this.#options.version(address);
    // The next request must not be told of a failure that is over.
    version.catch(() => this.#looks.delete(address ?? ''));
    this.#looks.set(address ?? '', { until: now + this.#options.every * 0.9, version });
    return version;
  }
}

interface Following {
  readonly whose: string;
  /** Asked with each ping whether the visitor may still read. */
  isAllowed(): Promise<boolean>;
}

interface Follower extends Pick<Following, 'isAllowed'> {
  readonly signal: AbortSignal;
  write(event: { readonly event: string; readonly data: string }): Promise<void>;
}
