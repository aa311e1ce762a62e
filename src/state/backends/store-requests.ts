import type { AttemptResult } from '../../platform/exchange.ts';
import { failureWords } from '../../platform/failure.ts';
import { proxyRefusal } from '../../platform/network-reason.ts';
import { isClosedLocalPort, isLasting } from '../../platform/retry.ts';
import { type Network, WebClient } from '../../platform/web-client.ts';
import { errorCode } from '../../problems/error-code.ts';
import { UserError } from '../../problems/user-error.ts';
import type { StoreUser } from './backend.ts';

const TIMEOUT = 25_000;
const LARGEST_BODY = 256 * 1024 * 1024;

interface RequestsOptions {
  /** Location of the state for messages. */
  readonly location: string;
  /** The setting with the address. */
  readonly setting: string;
  readonly user: Pick<StoreUser, 'network' | 'debug'>;
  /** The timeout of one request, from connecting to the last byte of the response. */
  readonly timeoutMilliseconds?: number | undefined;
  redact?(text: string): string;
}

interface StoreRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Text or bytes; anything else counts as none, because the types of the SDKs allow more. */
  readonly body: unknown;
  readonly signal: unknown;
}

type StoreResponse = AttemptResult & { readonly type: 'answer' };

/** Sends the requests of a store, also those of an SDK, as all others are sent: through the proxy, with the additional certificates. */
export class StoreRequests {
  readonly #options: RequestsOptions;
  readonly #timeoutMilliseconds: number;
  readonly #web: WebClient;
  readonly #answered = new Set<string>();

  constructor(options: RequestsOptions) {
    this.#options = options;
    this.#timeoutMilliseconds = options.timeoutMilliseconds ?? TIMEOUT;
    this.#web = new WebClient({
      connections: 4,
      timeoutMilliseconds: this.#timeoutMilliseconds,
      maxBodyBytes: LARGEST_BODY,
    });
  }

  /** @throws UserError if another attempt cannot help. Error without an answer. */
  async send({ method, url, headers, body, signal }: StoreRequest): Promise<StoreResponse> {
    const { user } = this.#options;
    const network = user.network?.(url.href) ?? {};
    const result = await this.#web.send({
      method,
      url,
      network,
      headers,
      body: body instanceof Uint8Array ? Buffer.from(body) : typeof body === 'string' ? body : undefined,
      signal: signal instanceof AbortSignal ? signal : new AbortController().signal,
    });
    user.debug?.(`state: ${method} ${url.origin}${url.pathname} ${result.status ?? 'no answer'}`);
    if (result.type === 'failure') throw this.#failure(result, url.host, network);
    this.#answered.add(url.host);
    if (result.status === 407 && network.proxy !== undefined) {
      throw new UserError(proxyRefusal(network.proxy, { status: 407, target: url.host }));
    }
    return result;
  }

  #failure(result: AttemptResult & { type: 'failure' }, host: string, { proxy }: Network): Error {
    const { location, setting, redact = (text) => text } = this.#options;
    const limits = { timeoutSeconds: this.#timeoutMilliseconds / 1000, maxBodyBytes: LARGEST_BODY, redact };
    const why = failureWords({ host, proxy, ...limits }, result);
    const code = errorCode(result.error);
    const isPermanent =
      result.reason === 'too-large' ||
      isLasting(result.error) ||
      (!this.#answered.has(host) && (code === 'ENOTFOUND' || isClosedLocalPort(host, result)));
    return isPermanent
      ? new UserError(`cannot reach the state ${location}: ${why}`, {
          ...(code === 'ENOTFOUND' && { hint: `Correct the host in ${setting}.` }),
        })
      : new Error(why);
  }
}

/** The headers that an SDK expects. */
export function textHeaders({ headers }: StoreResponse): Record<string, string> {
  const texts = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]],
  );
  return Object.fromEntries(texts);
}
