import { setTimeout as delay } from 'node:timers/promises';
import type { Context } from 'hono';
import { streamSSE } from 'hono/streaming';

interface LiveOptions {
  version(address: string | undefined): Promise<string>;
  /** Milliseconds between two queries for changes. */
  readonly pollIntervalMs: number;
}

/** The maximum number of open pages in total, and per visitor. Further pages must retry later. */
const MAX_STREAMS = 200;
const MAX_STREAMS_PER_VISITOR = 50;
/** Milliseconds between two pings. Without pings, the page reports a lost connection. */
const PING_INTERVAL_MS = 15_000;
/** Milliseconds after which a stream ends. The page then opens a new stream. */
const MAX_STREAM_MS = 30 * 60_000;

/** Notifies open pages of changes. A new stream first sends the current version, so that the page does not miss a change. */
export class LiveUpdates {
  readonly #options: LiveOptions;
  readonly #closing = new AbortController();
  readonly #versions = new Map<string, { readonly until: number; readonly version: Promise<string> }>();
  /** The visitors of the open streams, one entry for each stream. */
  readonly #streams: string[] = [];

  constructor(options: LiveOptions) {
    this.#options = options;
  }

  /** True if the visitor cannot open another stream. @param visitorKey the name of a person, or a network address. */
  isFull(visitorKey: string): boolean {
    return (
      this.#streams.length >= MAX_STREAMS ||
      this.#streams.filter((each) => each === visitorKey).length >= MAX_STREAMS_PER_VISITOR
    );
  }

  close(): void {
    this.#closing.abort();
  }

  stream(c: Context, address: string | undefined, { visitorKey, isAllowed }: StreamOptions): Response {
    this.#streams.push(visitorKey);
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
        // For example, the database cannot be reached. The page reports the lost connection, and its next request returns the error.
      } finally {
        this.#streams.splice(this.#streams.indexOf(visitorKey), 1);
        this.#closing.signal.removeEventListener('abort', end);
      }
    });
  }

  async #follow(address: string | undefined, { signal, isAllowed, write }: FollowOptions): Promise<void> {
    const startedAt = performance.now();
    let sentVersion: string | undefined;
    let sentAt = startedAt;
    let checkedAt = startedAt;
    let isWritten = true;
    while (!signal.aborted && performance.now() - startedAt < MAX_STREAM_MS) {
      const version = await this.version(address);
      if (performance.now() - checkedAt >= PING_INTERVAL_MS) {
        if (!(await isAllowed())) return;
        checkedAt = performance.now();
      }
      const isPingDue = performance.now() - sentAt >= PING_INTERVAL_MS;
      // The client has not received the last event.
      if (isPingDue && !isWritten) return;
      if (isWritten && (version !== sentVersion || isPingDue)) {
        const event = version === sentVersion ? { event: 'ping', data: '' } : { event: 'version', data: version };
        isWritten = false;
        void write(event).then(() => {
          isWritten = true;
        });
        sentVersion = version;
        sentAt = performance.now();
      }
      await delay(this.#options.pollIntervalMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Returns the version of the contents. All requests within a poll interval share one query. */
  version(address: string | undefined): Promise<string> {
    const now = performance.now();
    for (const [key, { until }] of this.#versions) if (until <= now) this.#versions.delete(key);
    const cached = this.#versions.get(address ?? '');
    if (cached !== undefined) return cached.version;
    const version = this.#options.version(address);
    // Do not cache a failure.
    version.catch(() => this.#versions.delete(address ?? ''));
    this.#versions.set(address ?? '', { until: now + this.#options.pollIntervalMs * 0.9, version });
    return version;
  }
}

interface StreamOptions {
  readonly visitorKey: string;
  /** True if the visitor may still read the page. Called regularly, also while other events replace the pings. */
  isAllowed(): Promise<boolean>;
}

interface FollowOptions extends Pick<StreamOptions, 'isAllowed'> {
  readonly signal: AbortSignal;
  write(event: { readonly event: string; readonly data: string }): Promise<void>;
}
