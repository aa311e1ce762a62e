import { Readable } from 'node:stream';
import { createHttpHeaders, type HttpClient } from '@azure/core-rest-pipeline';
import type { StoreUser } from '../backend.ts';
import { SdkRequests } from '../bucket/sdk-requests.ts';

/** Sends the requests of the Azure SDK. */
export function httpClient(location: string, user: Pick<StoreUser, 'network' | 'debug'>): HttpClient {
  const requests = new SdkRequests(location, user);
  return {
    async sendRequest(request) {
      const { method, url, body: sent, abortSignal: signal, streamResponseStatusCodes: streamed } = request;
      const headers = headersOf(request.headers);
      const answer = await requests.send({ method, url: new URL(url), headers, body: sent, signal });
      const { status, body } = answer;
      const isStreamed = streamed?.has(status) === true || streamed?.has(Number.POSITIVE_INFINITY) === true;
      return {
        request,
        status,
        headers: Object.assign(createHttpHeaders(answer.headers), { toJson: () => answer.headers }),
        ...(isStreamed ? { readableStreamBody: Readable.from([body]) } : { bodyAsText: body.toString() }),
      };
    },
  };
}

/** The client of storage wraps requests and responses in an older form of headers. */
function headersOf(headers: object): Record<string, string> {
  const { toJSON, toJson } = headers as Record<string, (() => Record<string, string>) | undefined>;
  return (toJson ?? toJSON)?.call(headers) ?? {};
}
