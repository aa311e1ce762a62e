import type { Dispatcher } from 'undici';
import { VERSION } from '../version.ts';
import { poolFor } from './connection.ts';
import type { AttemptResult } from './exchange.ts';
import { Exchange } from './exchange.ts';
import { inflated } from './inflate.ts';
import type { ProxySettings } from './proxy.ts';

/** How a server is reached. */
export interface Network {
  readonly proxy?: ProxySettings | undefined;
  /** PEM certificates that are trusted besides Node's own. */
  readonly ca?: string | undefined;
}

interface WebClientOptions {
  /** At once, to each server. */
  readonly connections: number;
  /** For one attempt, from connecting to the last byte of the response. */
  readonly timeoutMilliseconds: number;
  readonly maxBodyBytes: number;
}

interface WebRequest {
  readonly method: string;
  readonly url: URL;
  readonly network: Network;
  /** Besides those of every request for JSON. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | string | undefined;
  readonly signal: AbortSignal;
}

/** Requests to servers other than the platform: hosts of repositories, servers of states, receivers of notifications. */
export class WebClient {
  readonly #options: WebClientOptions;
  readonly #pools = new Map<string, Promise<Dispatcher>>();

  constructor(options: WebClientOptions) {
    this.#options = options;
  }

  /** One attempt. It follows no redirect and never rejects: a failure is in the result. */
  async send({ method, url, network, headers, body, signal }: WebRequest): Promise<AttemptResult> {
    const { maxBodyBytes } = this.#options;
    const exchange = new Exchange(this.#options);
    const abort = (): void => exchange.abort();
    signal.addEventListener('abort', abort, { once: true });
    try {
      const pool = await this.#poolOf(url.origin, network);
      if (signal.aborted) exchange.abort();
      else {
        pool.dispatch(
          {
            origin: url.origin,
            path: url.pathname + url.search,
            method: method as Dispatcher.HttpMethod,
            headers: {
              accept: 'application/json',
              ...headers,
              'user-agent': `voxform/${VERSION}`,
              ...(body !== undefined && { 'content-type': 'application/json' }),
            },
            body: body ?? null,
          },
          exchange,
        );
      }
      return await inflated(await exchange.result, maxBodyBytes);
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  #poolOf(origin: string, { proxy, ca }: Network): Promise<Dispatcher> {
    const key = JSON.stringify([origin, ca, proxy?.origin, proxy?.credentials?.reveal()]);
    const { connections, timeoutMilliseconds: connectMilliseconds } = this.#options;
    const pool = this.#pools.get(key) ?? poolFor(origin, { connections, connectMilliseconds, proxy, ca });
    this.#pools.set(key, pool);
    return pool;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#pools.values()].map(async (pool) => (await pool).destroy()));
  }
}
