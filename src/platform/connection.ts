import type { SecureContext } from 'node:tls';
import type { Dispatcher, Pool } from 'undici';
import { UserError } from '../problems/user-error.ts';
import type { Secret } from '../values/value.ts';
import { type ProxySettings, proxyAuthorization } from './proxy.ts';

/**
 * Parses the base URL of all requests: an http or https URL that may have a path. Throws `UserError` for any other URL: credentials, a
 * query or a fragment would be lost or sent to the wrong server.
 */
export function parseBaseUrl(text: string): URL {
  const url = URL.parse(text);
  if (url === null) throw invalidBaseUrl('is not a URL');
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw invalidBaseUrl('is neither http nor https');
  if (url.username !== '' || url.password !== '') throw invalidBaseUrl('contains a user name or a password');
  if (url.search !== '' || url.hash !== '') throw invalidBaseUrl('has a query or a fragment');
  if (/\/api\/v1\/*$/.test(url.pathname)) throw invalidBaseUrl('ends in /api/v1');
  return url;
}

function invalidBaseUrl(problem: string): UserError {
  return new UserError(`base_url ${problem}`, {
    hint: 'Use the address of the platform without /api/v1, such as https://platform.example.com',
  });
}

/** Returns true if a string can be sent as an API key: it consists of visible ASCII characters. */
export function isApiKey(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text);
}

/** Returns the value of the `Authorization` header. Throws `UserError`, without the key, if the key is not valid in a header. */
export function bearer(apiKey: Secret): string {
  const key = apiKey.reveal();
  if (!isApiKey(key)) {
    throw new UserError(
      `the API key ${apiKey.name} ${key === '' ? 'is empty' : 'contains spaces, line breaks or invalid characters'}`,
      { hint: 'Set it to the exact key from the dashboard.' },
    );
  }
  return `Bearer ${key}`;
}

export interface ConnectOptions {
  readonly connections: number;
  readonly connectMilliseconds: number;
  readonly proxy?: ProxySettings | undefined;
  /** PEM certificates that are trusted in addition to Node's own. */
  readonly ca?: string | undefined;
}

/** Connection pools, one for each server and set of options. */
export class Pools {
  readonly #pools = new Map<string, Promise<Dispatcher>>();

  to(origin: string, connectOptions: ConnectOptions): Promise<Dispatcher> {
    const key = JSON.stringify([origin, connectOptions, connectOptions.proxy?.credentials?.reveal()]);
    const pool = this.#pools.get(key) ?? poolFor(origin, connectOptions);
    this.#pools.set(key, pool);
    return pool;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#pools.values()].map(async (pool) => (await pool).destroy()));
  }
}

/** Creates a connection pool. undici is loaded only with the first request. */
export async function poolFor(origin: string, connectOptions: ConnectOptions): Promise<Dispatcher> {
  const { connections, connectMilliseconds, proxy, ca } = connectOptions;
  const [PoolOf, secureContext] = await Promise.all([loadPool(), secureContextOf(ca)]);
  const options = {
    connections,
    pipelining: 1,
    // A broken HTTP/2 session fails many requests at once, and undici may send a stream a second time.
    allowH2: false,
    // This is Node's default. Reading it from Node would load a dozen modules.
    maxHeaderSize: 16 * 1024,
    // `Exchange` has its own timer.
    headersTimeout: 0,
    bodyTimeout: 0,
  };
  const connect = { timeout: connectMilliseconds, ...(secureContext && { secureContext }) };
  if (proxy === undefined) return new PoolOf(origin, { ...options, connect });
  if (origin.startsWith('https:')) {
    const { tunnelConnector } = await import('./tunnel.ts');
    const tunnel = tunnelConnector({ proxy, connectMilliseconds, secureContext });
    return new PoolOf(origin, { ...options, connect: tunnel });
  }
  const headers = { host: new URL(origin).host, ...proxyAuthorization(proxy) };
  return new PoolOf(proxy.origin, { ...options, connect }).compose(
    (dispatch) => (request, handler) =>
      dispatch(
        {
          ...request,
          origin: proxy.origin,
          path: `${origin}${request.path}`,
          headers: { ...(request.headers as Readonly<Record<string, string>>), ...headers },
        },
        handler,
      ),
  );
}

/** Loads only the pool, which takes half the time of loading undici. */
async function loadPool(): Promise<typeof Pool> {
  // @ts-expect-error undici has no type declarations for this file.
  return ((await import('undici/lib/dispatcher/pool.js')) as { readonly default: typeof Pool }).default;
}

/** Called once per pool, because reading hundreds of certificates takes longer than connecting. */
async function secureContextOf(ca: string | undefined): Promise<SecureContext | undefined> {
  if (ca === undefined) return undefined;
  const { createSecureContext, getCACertificates } = await import('node:tls');
  return createSecureContext({ ca: [...getCACertificates('default'), ca] });
}

export type Query = Readonly<Record<string, string | number | undefined>>;

/** Formats a query as `?per_page=100&cursor=…`. Returns an empty string for an empty query. */
export function queryText(query: Query = {}): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [`${encodeURIComponent(name)}=${encodeURIComponent(String(value).toWellFormed())}`],
  );
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}
