import { Readable } from 'node:stream';
import type { S3ClientConfig } from '@aws-sdk/client-s3';
import type { StoreUser } from '../backend.ts';
import { SdkRequests } from '../bucket/sdk-requests.ts';

type Handler = Exclude<NonNullable<S3ClientConfig['requestHandler']>, { requestTimeout?: unknown }>;
type HttpRequest = Parameters<Extract<Handler, { handle: unknown }>['handle']>[0];

/** Sends the requests of the AWS SDK. */
export function requestHandler(location: string, user: Pick<StoreUser, 'network' | 'debug'>): Handler {
  const requests = new SdkRequests(location, user);
  const handler = {
    metadata: { handlerProtocol: 'http/1.1' },
    updateHttpClientConfig: () => undefined,
    httpHandlerConfigs: () => ({}),
    async handle(request: HttpRequest, { abortSignal }: { abortSignal?: unknown } = {}) {
      // undici refuses `expect`. Ceph lists in JSON for those who accept it. The signature covers neither.
      const { expect: _, ...headers } = { ...request.headers, accept: '*/*' };
      const { method, body: sent } = request;
      const answer = await requests.send({
        method,
        url: addressOf(request),
        headers,
        body: sent,
        signal: abortSignal,
      });
      const { status, headers: received, body } = answer;
      return { response: { statusCode: status, headers: received, body: Readable.from([body]) } };
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
  return encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}
