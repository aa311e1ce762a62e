import type { SecureContext } from 'node:tls';
import type { Dispatcher, Pool } from 'undici';
import { UserError } from '../problems/user-error.ts';
import type { Secret } from '../values/value.ts';
import { type ProxySettings, proxyAuthorization } from './proxy.ts';

/**
 * The address that all requests go to, which may have a path. Throws `UserError` for anything but a plain http or https
 * address: credentials, a query or a fragment would be lost or sent where nobody expects them.
 */
export function parseBaseUrl(text: string): URL {
  if (!URL.canParse(text)) throw invalidBaseUrl('is not a URL');
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw invalidBaseUrl('is neither http nor https');
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

/** Value of the `Authorization` header. Throws `UserError`, which does not show the key, where no header could hold it. */
export function bearer(apiKey: Secret): string {
  const key = apiKey.reveal();
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw new UserError(
      `the API key ${apiKey.name} ${key === '' ? 'is empty' : 'contains spaces, line breaks or invalid characters'}`,
      { hint: 'Set it to the key as the dashboard shows it, and nothing else.' },
    );
  }
  return `Bearer ${key}`;
}

export interface Connecting {
  readonly connections: number;
  readonly connectMilliseconds: number;
  readonly proxy?: ProxySettings | undefined;
  /** PEM certificates that are trusted besides Node's own. */
  readonly ca?: string | undefined;
}

/** One connection for each request that may run at once. Loads undici, which commands that send nothing do without. */
export async function poolFor(origin: string, connecting: Connecting): Promise<Dispatcher> {
  const { connections, connectMilliseconds, proxy, ca } = connecting;
  const [PoolOf, secureContext] = await Promise.all([loadedPool(), trusting(ca)]);
  const options = {
    connections,
    pipelining: 1,
    // Over HTTP/2 a lost session can take many requests with it, and a stream may be sent a second time unasked.
    allowH2: false,
    // Node's default, which it takes a dozen modules to ask for.
    maxHeaderSize: 16 * 1024,
    // An exchange has one timer for everything.
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

/** Without the rest of undici, which takes twice as long to load. */
async function loadedPool(): Promise<typeof Pool> {
  // @ts-expect-error A part of a package has no types of its own.
  return ((await import('undici/lib/dispatcher/pool.js')) as { readonly default: typeof Pool }).default;
}

/** Made once: to read some hundred certificates for each connection would take longer than connecting. */
async function trusting(ca: string | undefined): Promise<SecureContext | undefined> {
  if (ca === undefined) return undefined;
  const { createSecureContext, getCACertificates } = await import('node:tls');
  return createSecureContext({ ca: [...getCACertificates('default'), ca] });
}

export type Query = Readonly<Record<string, string | number | undefined>>;

/** `?per_page=100&cursor=…`, or nothing. */
export function queryText(query: Query = {}): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined
      ? []
      : [`${encodeURIComponent(name)}=${encodeURIComponent(String(value).toWellFormed())}`],
  );
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}
