import type { Dispatcher } from 'undici';
import { VERSION } from '../version.ts';
import { Pools } from './connection.ts';
import { type AttemptResult, Exchange } from './exchange.ts';
import { decompress } from './inflate.ts';
import type { ProxySettings } from './proxy.ts';

export interface Network {
  readonly proxy?: ProxySettings | undefined;
  /** PEM certificates that are trusted in addition to Node's own. */
  readonly ca?: string | undefined;
}

interface WebClientOptions {
  /** The maximum number of connections per server. */
  readonly connections: number;
  /** The timeout of one attempt, from connecting to the last byte of the response. */
  readonly timeoutMilliseconds: number;
  readonly maxBodyBytes: number;
}

interface WebRequest {
  readonly method: string;
  readonly url: URL;
  readonly network: Network;
  /** Headers in addition to those of every JSON request. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | string | undefined;
  readonly signal: AbortSignal;
}

/** Sends requests to servers other than the platform: code hosts, state servers and notification receivers. */
export class WebClient {
  readonly #options: WebClientOptions;
  readonly #pools = new Pools();

  constructor(options: WebClientOptions) {
    this.#options = options;
  }

  /** Makes one attempt. Follows no redirects and never rejects: a failure is part of the result. */
  async send({ method, url, network, headers, body, signal }: WebRequest): Promise<AttemptResult> {
    const { connections, timeoutMilliseconds: connectMilliseconds, maxBodyBytes } = this.#options;
    const exchange = new Exchange(this.#options);
    const abort = (): void => exchange.abort();
    signal.addEventListener('abort', abort, { once: true });
    try {
      const pool = await this.#pools.to(url.origin, { ...network, connections, connectMilliseconds });
      if (signal.aborted) exchange.abort();
      else {
        pool.dispatch(
          {
            origin: url.origin,
            path: url.pathname + url.search,
            method: method as Dispatcher.HttpMethod,
            headers: {
              accept: 'application/json',
              ...(body !== undefined && { 'content-type': 'application/json' }),
              ...headers,
              'user-agent': `voxform/${VERSION}`,
            },
            body: body ?? null,
          },
          exchange,
        );
      }
      return await decompress(await exchange.result, maxBodyBytes);
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  async close(): Promise<void> {
    await this.#pools.close();
  }
}
