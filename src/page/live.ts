import { setTimeout as delay } from 'node:timers/promises';
import type { Context } from 'hono';
import { streamSSE } from 'hono/streaming';

interface LiveOptions {
  version(address: string | undefined): Promise<string>;
  /** Milliseconds between two queries for changes. */
  readonly every: number;
}

/** The maximum number of open pages in total, and per visitor. Further pages must retry later. */
const MOST_STREAMS = 200;
const MOST_EACH = 50;
/** Milliseconds between two pings. Without them, the page reports a lost connection. */
const PING = 15_000;
/** Milliseconds after which a stream ends. The page then opens another. */
const LONGEST = 30 * 60_000;

/** Notifies open pages of changes. A new stream first sends the current version, so that the page misses no change. */
export class LiveUpdates {
  readonly #options: LiveOptions;
  readonly #closing = new AbortController();
  readonly #versions = new Map<string, { readonly until: number; readonly version: Promise<string> }>();
  /** The visitors of the open streams, one entry for each stream. */
  readonly #streams: string[] = [];

  constructor(options: LiveOptions) {
    this.#options = options;
  }

  /** @param whose the name of a person, or a network address. */
  isFull(whose: string): boolean {
    return this.#streams.length >= MOST_STREAMS || this.#streams.filter((each) => each === whose).length >= MOST_EACH;
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
        // For example, the database is unreachable. The page reports the lost connection, and its next request returns the error.
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
      // End the stream if the client has not received the last event, or may no longer read the page.
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

  /** Returns the version of the source. All requests within an interval share one query. */
  version(address: string | undefined): Promise<string> {
    const now = performance.now();
    for (const [key, { until }] of this.#versions) if (until <= now) this.#versions.delete(key);
    const known = this.#versions.get(address ?? '');
    if (known !== undefined) return known.version;
    const version = this.#options.version(address);
    // Do not cache a failure.
    version.catch(() => this.#versions.delete(address ?? ''));
    this.#versions.set(address ?? '', { until: now + this.#options.every * 0.9, version });
    return version;
  }
}

interface Following {
  readonly whose: string;
  /** True if the visitor may still read the page. Called before each ping. */
  isAllowed(): Promise<boolean>;
}

interface Follower extends Pick<Following, 'isAllowed'> {
  readonly signal: AbortSignal;
  write(event: { readonly event: string; readonly data: string }): Promise<void>;
}
