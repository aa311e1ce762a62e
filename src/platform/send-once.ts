import type { Dispatcher } from 'undici';
import { VERSION } from '../version.ts';
import type { AttemptResult } from './attempt-result.ts';
import { Exchange } from './exchange.ts';
import { inflated } from './inflate.ts';

interface OneRequest {
  readonly method: string;
  readonly url: URL;
  /** Besides those of every request for JSON. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | string | undefined;
  readonly timeoutMilliseconds: number;
  readonly maxBodyBytes: number;
  readonly signal: AbortSignal;
}

/** Asks a server other than the platform for JSON, once. Never rejects: what went wrong is in the result. */
export async function sendOnce(pool: Dispatcher, request: OneRequest): Promise<AttemptResult> {
  const { method, url, headers, body, timeoutMilliseconds, maxBodyBytes, signal } = request;
  const exchange = new Exchange({ timeoutMilliseconds, maxBodyBytes });
  const abort = (): void => exchange.abort();
  signal.addEventListener('abort', abort, { once: true });
  try {
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
