import type { AttemptResult } from '../../platform/exchange.ts';
import { failureWords } from '../../platform/failure.ts';
import { proxyRefusal } from '../../platform/network-reason.ts';
import { isClosedLocalPort, isPermanentFailure } from '../../platform/retry.ts';
import { type Network, WebClient } from '../../platform/web-client.ts';
import { errorCode } from '../../problems/error-code.ts';
import { UserError } from '../../problems/user-error.ts';
import type { StoreUser } from './backend.ts';

const TIMEOUT_MS = 25_000;
const MAX_BODY_BYTES = 256 * 1024 * 1024;

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
  /** Text or bytes. Other values, which the types of the SDKs allow, are ignored. */
  readonly body: unknown;
  readonly signal: unknown;
}

type StoreResponse = AttemptResult & { readonly type: 'response' };

/** Sends the requests of a store or its SDK through the configured proxy, and with the configured additional certificates. */
export class StoreRequests {
  readonly #options: RequestsOptions;
  readonly #timeoutMilliseconds: number;
  readonly #web: WebClient;
  /** The hosts that have responded. Failures to reach them are temporary. */
  readonly #reachedHosts = new Set<string>();

  constructor(options: RequestsOptions) {
    this.#options = options;
    this.#timeoutMilliseconds = options.timeoutMilliseconds ?? TIMEOUT_MS;
    this.#web = new WebClient({
      connections: 4,
      timeoutMilliseconds: this.#timeoutMilliseconds,
      maxBodyBytes: MAX_BODY_BYTES,
    });
  }

  /** Sends a request. @throws UserError for a permanent failure; Error for a temporary failure without a response. */
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
    user.debug?.(`state: ${method} ${url.origin}${url.pathname} ${result.status ?? 'no response'}`);
    if (result.type === 'failure') throw this.#failure(result, url.host, network);
    this.#reachedHosts.add(url.host);
    if (result.status === 407 && network.proxy !== undefined) {
      throw new UserError(proxyRefusal(network.proxy, { status: 407, target: url.host }));
    }
    return result;
  }

  #failure(result: AttemptResult & { type: 'failure' }, host: string, { proxy }: Network): Error {
    const { location, setting, redact = (text) => text } = this.#options;
    const limits = { timeoutSeconds: this.#timeoutMilliseconds / 1000, maxBodyBytes: MAX_BODY_BYTES, redact };
    const reason = failureWords({ host, proxy, ...limits }, result);
    const code = errorCode(result.error);
    const isPermanent =
      result.reason === 'too-large' ||
      isPermanentFailure(result.error) ||
      (!this.#reachedHosts.has(host) && (code === 'ENOTFOUND' || isClosedLocalPort(host, result)));
    return isPermanent
      ? new UserError(`cannot reach the state ${location}: ${reason}`, {
          ...(code === 'ENOTFOUND' && { hint: `Correct the host in ${setting}.` }),
        })
      : new Error(reason);
  }
}

/** Returns the headers in the form that an SDK expects. */
export function textHeaders({ headers }: StoreResponse): Record<string, string> {
  const entries = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]],
  );
  return Object.fromEntries(entries);
}
