import { Readable } from 'node:stream';
import type { S3ClientConfig } from '@aws-sdk/client-s3';
import { proxyRefusal } from '../../../platform/network-reason.ts';
import { WebClient } from '../../../platform/web-client.ts';
import { UserError } from '../../../problems/user-error.ts';
import type { StoreUser } from '../backend.ts';
import { requestFailure } from '../request-failure.ts';

const TIMEOUT = 25_000;
const LARGEST_BODY = 256 * 1024 * 1024;

type Handler = Exclude<NonNullable<S3ClientConfig['requestHandler']>, { requestTimeout?: unknown }>;
type HttpRequest = Parameters<Extract<Handler, { handle: unknown }>['handle']>[0];

/** Sends the requests of the AWS SDK as all others are sent: through the configured proxy, with the additional certificates. */
export function requestHandler(location: string, user: Pick<StoreUser, 'network' | 'debug'>): Handler {
  const web = new WebClient({ connections: 4, timeoutMilliseconds: TIMEOUT, maxBodyBytes: LARGEST_BODY });
  const answered = new Set<string>();
  const handler = {
    metadata: { handlerProtocol: 'http/1.1' },
    updateHttpClientConfig: () => undefined,
    httpHandlerConfigs: () => ({}),
    async handle(request: HttpRequest, { abortSignal }: { abortSignal?: unknown } = {}) {
      const url = addressOf(request);
      const network = user.network?.(url.href) ?? {};
      // undici refuses `expect`. Ceph lists in JSON for those who accept it. The signature covers neither.
      const { expect: _, ...headers } = { ...request.headers, accept: '*/*' };
      const body: unknown = request.body;
      const signal = abortSignal instanceof AbortSignal ? abortSignal : new AbortController().signal;
      const result = await web.send({
        method: request.method,
        url,
        network,
        headers,
        body: body instanceof Uint8Array ? Buffer.from(body) : typeof body === 'string' ? body : undefined,
        signal,
      });
      user.debug?.(`state: ${request.method} ${url.origin}${url.pathname} ${result.status ?? 'no answer'}`);
      if (result.type === 'failure') {
        throw requestFailure(result, {
          location,
          setting: 'state.endpoint',
          host: url.host,
          network,
          timeoutSeconds: TIMEOUT / 1000,
          maxBodyBytes: LARGEST_BODY,
          hasAnswered: answered.has(url.host),
          redact: (text) => text,
        });
      }
      answered.add(url.host);
      if (result.status === 407 && network.proxy !== undefined) {
        throw new UserError(proxyRefusal(network.proxy, { status: 407, target: url.host }));
      }
      const answer = {
        statusCode: result.status,
        headers: textsOf(result.headers),
        body: Readable.from([result.body]),
      };
      return { response: answer };
    },
  };
  return handler as unknown as Handler;
}

function addressOf({ protocol, hostname, port, path, query }: HttpRequest): URL {
  const pairs = Object.entries(query ?? {}).flatMap(([name, value]) => {
    const values = Array.isArray(value) ? value : [value ?? ''];
    return values.map((each) => `${encoded(name)}=${encoded(each)}`);
  });
  const search = pairs.length === 0 ? '' : `?${pairs.join('&')}`;
  return new URL(`${protocol}//${hostname}${port === undefined ? '' : `:${port}`}${path}${search}`);
}

/** As RFC 3986, which the signature is made of. */
function encoded(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function textsOf(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  );
}
