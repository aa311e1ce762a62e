import { setTimeout as delay } from 'node:timers/promises';
import type { z } from 'zod';
import { readErrorBody } from '../platform/error-body.ts';
import type { AttemptResult } from '../platform/exchange.ts';
import { isSuccess } from '../platform/exchange.ts';
import { failureWords } from '../platform/failure.ts';
import { backoff, isLasting, MAX_TRIES, MAX_TRIES_THROTTLED, retryAfter, sendWithRetries } from '../platform/retry.ts';
import { type Network, WebClient } from '../platform/web-client.ts';
import { UserError, type UserErrorOptions } from '../problems/user-error.ts';
import { parsedJson } from '../values/json.ts';
import { isLoopback } from '../values/loopback.ts';
import type { Secret } from '../values/value.ts';

/** The reason for a failed request to a host. */
type HostFailure =
  | { readonly why: 'refused'; readonly status: number }
  /** The response was lost, so the request may have succeeded. */
  | { readonly why: 'unclear' }
  /** The host cannot be reached, or all responses are errors. */
  | { readonly why: 'unreachable' }
  /** The host limits requests for longer than the caller waits. */
  | { readonly why: 'limited'; readonly until: Date };

export class HostProblem extends UserError {
  override readonly name: string = 'HostProblem';
  readonly failure: HostFailure;

  constructor(message: string, failure: HostFailure, options: UserErrorOptions = {}) {
    super(message, options);
    this.failure = failure;
  }
}

interface HostClientOptions {
  /** Address of the API, without a final slash. */
  readonly api: string;
  /** The repository for messages. */
  readonly shown: string;
  readonly token: Secret;
  readonly kind: {
    readonly rights: string;
    readonly headers?: Readonly<Record<string, string>>;
  };
  readonly network: Network;
  readonly signal: AbortSignal;
  /** The maximum time in milliseconds that the host may make all requests wait. */
  readonly longestPause: number;
  redact(text: string): string;
  onNotice(message: string): void;
}

const LIMITS = { connections: 4, timeoutMilliseconds: 30_000, maxBodyBytes: 32 * 1024 * 1024 };
/** The pause in milliseconds if a host limits requests without a time. */
const USUAL_PAUSE = 60_000;

/** A JSON client for the API of a host. */
export class HostClient {
  readonly #options: HostClientOptions;
  readonly #host: string;
  readonly #web = new WebClient(LIMITS);
  readonly #budget: { left: number };

  /** @throws UserError for an invalid token or address. */
  constructor(options: HostClientOptions) {
    const { api, token, kind, longestPause } = options;
    const { protocol, hostname, host } = new URL(api);
    this.#options = options;
    this.#host = host;
    this.#budget = { left: longestPause };
    if (protocol !== 'https:' && !isLoopback(hostname)) {
      throw new UserError(`${api} would get the token ${token.name} without encryption`, {
        hint: 'Set pull_requests.api_url to an https address.',
      });
    }
    if (!token.isSet) {
      throw new UserError(`the token ${token.name} is not set`, {
        hint: `Set ${token.name} in the environment or .env, or put it into a file ${token.name} in the secrets_dir. It needs ${kind.rights}. Another name: pull_requests.token.`,
      });
    }
    if (!/^[\x21-\x7e]+$/.test(token.reveal())) {
      throw new UserError(`the token ${token.name} contains spaces, line breaks or invalid characters`);
    }
  }

  async close(): Promise<void> {
    await this.#web.close();
  }

  /** The body of the response. @throws HostProblem */
  async ask<T>(method: 'GET' | 'POST' | 'PATCH' | 'PUT', path: string, form: z.ZodType<T>, body?: unknown): Promise<T> {
    const { api, token, kind, network, signal } = this.#options;
    const send = async (): Promise<AttemptResult> => {
      signal.throwIfAborted();
      const result = await this.#web.send({
        method,
        url: new URL(api + path),
        network,
        headers: { ...kind.headers, authorization: `Bearer ${token.reveal()}` },
        body: body === undefined ? undefined : JSON.stringify(body),
        signal,
      });
      signal.throwIfAborted();
      return result;
    };
    const isSafeToRetry = (result: AttemptResult): boolean =>
      method === 'GET' || (result.type === 'failure' && !result.sent);
    const { result } = await sendWithRetries(send, {
      mayRetry: (result, attempts) =>
        pauseOf(result) !== undefined
          ? attempts < MAX_TRIES_THROTTLED
          : attempts < MAX_TRIES && isTemporary(result) && isSafeToRetry(result),
      requestedPause: pauseOf,
      budget: this.#budget,
      wait: ({ requested, attempts }) => this.#wait(requested, attempts),
    });
    if (result.type === 'answer' && isSuccess(result.status)) return this.#read(form, result);
    throw this.#problem(`${method} ${path.replace(/\?.*/, '')}`, result, isSafeToRetry(result));
  }

  #read<T>(form: z.ZodType<T>, { status, body }: AttemptResult & { type: 'answer' }): T {
    const parsed = form.safeParse(parsedJson(body.toString('utf8')));
    if (parsed.success) return parsed.data;
    const at = parsed.error.issues[0]?.path.join('.') ?? '';
    const where = at === '' ? '' : ` (${at})`;
    throw new HostProblem(
      `${this.#host} did not answer as the API of a host does${where}`,
      { why: 'refused', status },
      { hint: 'Check pull_requests.api_url, and whether a proxy or a sign-in page is in between.' },
    );
  }

  async #wait(requested: number | undefined, attempts: number): Promise<void> {
    const { onNotice, signal } = this.#options;
    if (requested !== undefined && attempts === 1)
      onNotice(`${this.#host} limits requests: waiting ${Math.ceil(requested / 1000)} s`);
    const pause = requested ?? backoff(attempts, Math.random);
    await delay(pause, undefined, { signal }).catch(() => signal.throwIfAborted());
  }

  #problem(what: string, result: AttemptResult, isSafeToRetry: boolean): HostProblem {
    const { redact, network, shown, token, kind } = this.#options;
    const host = this.#host;
    const failure = { why: isSafeToRetry ? 'unreachable' : 'unclear' } as const;
    if (result.type === 'failure') {
      const timeoutSeconds = LIMITS.timeoutMilliseconds / 1000;
      const words = failureWords({ ...LIMITS, ...network, host, timeoutSeconds, redact }, result);
      return new HostProblem(words, failure);
    }
    const limit = pauseOf(result);
    if (limit !== undefined) {
      const until = new Date(Date.now() + limit);
      const hint = 'Try again then, or wait longer with --max-wait.';
      const message = `${host} limits requests until ${until.toISOString()}`;
      return new HostProblem(message, { why: 'limited', until }, { hint });
    }
    const { status, body } = result;
    const { detail, code } = readErrorBody(body, redact);
    const summary = [status, detail ?? code].filter(Boolean).join(' ');
    if (isTemporary(result)) return new HostProblem(`${host} answered ${what} with ${summary}`, failure);
    const needs = `The token ${token.name} needs ${kind.rights}.`;
    const [message, hint] = (
      {
        401: [
          `${host} rejected the token ${token.name} (${summary})`,
          `Set ${token.name} to a valid token. It needs ${kind.rights}.`,
        ],
        403: [`no permission for ${shown} (${summary})`, needs],
        404: [`${shown} was not found (${summary})`, `Check pull_requests.repository. ${needs}`],
      } as Readonly<Record<number, readonly [string, string]>>
    )[status] ?? [`${shown}: ${summary}`];
    return new HostProblem(message, { why: 'refused', status }, hint === undefined ? {} : { hint });
  }
}

/** True for an overloaded server, a gateway timeout, and temporary network failures. */
function isTemporary(result: AttemptResult): boolean {
  if (result.type === 'failure') return !isLasting(result.error);
  return result.status === 408 || result.status >= 500;
}

/** The pause in milliseconds of a rate-limited response; undefined for other responses. */
function pauseOf(result: AttemptResult): number | undefined {
  if (result.type === 'failure') return undefined;
  const { status, headers, body } = result;
  const requested = retryAfter(headers, Date.now());
  const isSecondary = (): boolean => /"documentation_url":\s*"[^"]*rate-limit/.test(body.toString('utf8'));
  const isExhausted = headers['x-ratelimit-remaining'] === '0' || requested !== undefined;
  if (status !== 429 && !(status === 403 && (isExhausted || isSecondary()))) return undefined;
  return Math.max(requested ?? untilReset(headers) ?? USUAL_PAUSE, 100);
}

/** Relative to the time of the response, by the host's clock. */
function untilReset(headers: (AttemptResult & { type: 'answer' })['headers']): number | undefined {
  const reset = Number(headers['x-ratelimit-reset'] ?? headers['ratelimit-reset']);
  const sentAt = Date.parse(String(headers.date));
  const left = reset * 1000 - (Number.isNaN(sentAt) ? Date.now() : sentAt);
  return left > 0 ? left + 1000 : undefined;
}
