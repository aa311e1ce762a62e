import { proxyRefusal } from '../../../platform/network-reason.ts';
import { WebClient } from '../../../platform/web-client.ts';
import { UserError } from '../../../problems/user-error.ts';
import type { StoreUser } from '../backend.ts';
import { requestFailure } from '../request-failure.ts';

const TIMEOUT = 25_000;
const LARGEST_BODY = 256 * 1024 * 1024;

interface SdkRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly signal: unknown;
}

interface SdkResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** Sends the requests of an SDK as all others are sent: through the configured proxy, with the additional certificates. */
export class SdkRequests {
  readonly #location: string;
  readonly #user: Pick<StoreUser, 'network' | 'debug'>;
  readonly #web = new WebClient({
    connections: 4,
    timeoutMilliseconds: TIMEOUT,
    maxBodyBytes: LARGEST_BODY,
  });
  readonly #answered = new Set<string>();

  /** @param location of the state, for messages. */
  constructor(location: string, user: Pick<StoreUser, 'network' | 'debug'>) {
    this.#location = location;
    this.#user = user;
  }

  /** @throws UserError if another attempt cannot help. Error without an answer. */
  async send({ method, url, headers, body, signal }: SdkRequest): Promise<SdkResponse> {
    const network = this.#user.network?.(url.href) ?? {};
    const result = await this.#web.send({
      method,
      url,
      network,
      headers,
      body: body instanceof Uint8Array ? Buffer.from(body) : typeof body === 'string' ? body : undefined,
      signal: signal instanceof AbortSignal ? signal : new AbortController().signal,
    });
    this.#user.debug?.(`state: ${method} ${url.origin}${url.pathname} ${result.status ?? 'no answer'}`);
    if (result.type === 'failure') {
      throw requestFailure(result, {
        location: this.#location,
        setting: 'state.endpoint',
        host: url.host,
        network,
        timeoutSeconds: TIMEOUT / 1000,
        maxBodyBytes: LARGEST_BODY,
        hasAnswered: this.#answered.has(url.host),
        redact: (text) => text,
      });
    }
    this.#answered.add(url.host);
    if (result.status === 407 && network.proxy !== undefined) {
      throw new UserError(proxyRefusal(network.proxy, { status: 407, target: url.host }));
    }
    const texts = Object.entries(result.headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value)]],
    );
    return { status: result.status, headers: Object.fromEntries(texts), body: result.body };
  }
}
