import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { readErrorBody } from '../platform/error-body.ts';
import { type AttemptResult, isSuccess } from '../platform/exchange.ts';
import { failureWords } from '../platform/failure.ts';
import {
  backoff,
  isPermanentFailure,
  MAX_TRIES,
  MAX_TRIES_THROTTLED,
  retryAfter,
  sendWithRetries,
} from '../platform/retry.ts';
import { type Network, WebClient } from '../platform/web-client.ts';
import { UserError, type UserErrorOptions } from '../problems/user-error.ts';
import { tryParseJson } from '../values/json.ts';
import { isLoopback } from '../values/loopback.ts';
import type { Secret } from '../values/value.ts';

/** The reason why a request to a host failed. */
type HostFailure =
  | { readonly reason: 'refused'; readonly status: number }
  /** The response was lost, so the request may have succeeded. */
  | { readonly reason: 'unclear' }
  /** The host cannot be reached, or every attempt failed with a temporary error. */
  | { readonly reason: 'unreachable' }
  /** The host limits requests for longer than the caller waits. */
  | { readonly reason: 'limited'; readonly until: Date };

export class HostProblem extends UserError {
  override readonly name: string = 'HostProblem';
  readonly failure: HostFailure;

  constructor(message: string, failure: HostFailure, options: UserErrorOptions = {}) {
    super(message, options);
    this.failure = failure;
  }
}

/** Returns true if the host responded that a record does not exist (404). */
export function isMissing(error: unknown): boolean {
  return error instanceof HostProblem && error.failure.reason === 'refused' && error.failure.status === 404;
}

/** Returns the error for a valid response that cannot be used. */
export function refusal(message: string): HostProblem {
  return new HostProblem(message, { reason: 'refused', status: 200 });
}

/** Credentials for the API of a host and for git over HTTPS. */
export interface HostCredentials {
  /** The name of the credentials in messages, such as `the token NAME`. */
  readonly shown: string;
  /** The id of the GitHub App that writes with these credentials; undefined for a user. */
  readonly app?: number | undefined;
  /** The name of the user who writes with these credentials, if the credentials cannot query the name. */
  readonly login?: string | undefined;
  /** Returns a valid token. @throws HostProblem */
  token(): Promise<Secret>;
  /** Discards a token that the host rejected. Returns true if `token` can now return a new token. */
  renew?(rejected: Secret): boolean;
}

/** The names of settings in hints. */
interface SettingNames {
  readonly api: string;
  readonly repository: string;
  /** Undefined if the user cannot set the maximum wait. */
  readonly maxPause?: string;
}

export interface HostClientOptions {
  /** The address of the API, without a trailing slash. */
  readonly api: string;
  /** The name of the repository in messages. */
  readonly shown: string;
  readonly credentials: HostCredentials;
  /** The permissions that the credentials need, for messages. */
  readonly rights: string;
  readonly settings: SettingNames;
  readonly kind: { readonly headers?: Readonly<Record<string, string>> };
  readonly network: Network;
  readonly signal: AbortSignal;
  /** The maximum total time in milliseconds for which requests wait because of the host's rate limits. */
  readonly maxPauseMs: number;
  redact(text: string): string;
  onNotice(message: string): void;
}

const LIMITS = { connections: 4, timeoutMilliseconds: 30_000, maxBodyBytes: 32 * 1024 * 1024 };
/** The wait in milliseconds if a host limits requests without specifying a time. */
const DEFAULT_PAUSE_MS = 60_000;
/** The longest wait that a host can ask for. A wrong header must not stop all requests for years. */
const MAX_PAUSE_MS = 86_400_000;

/** The default maximum number of pages of a list. */
const MAX_PAGES = 20;
/** The maximum number of pages that a client caches for conditional requests. */
const MAX_CACHED_PAGES = 200;

/** The items of a page, and the path of the next page. */
interface Page<T> {
  readonly items: readonly T[];
  readonly next: string | undefined;
}

type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';

interface ListOptions {
  /** The maximum number of pages. */
  readonly pages?: number;
  /** True to cache the pages in memory, and to download only pages that have changed. */
  readonly isKept?: boolean;
  /** The field of the response that contains the items. By default, the response is a list. */
  readonly field?: string;
}

interface RequestParts {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

const NOT_MODIFIED = 304;

type ApiResponse = AttemptResult & { readonly type: 'response' };

/** A JSON client for the API of a host. */
export class HostClient {
  readonly #options: HostClientOptions;
  readonly #host: string;
  readonly #web = new WebClient(LIMITS);
  readonly #budget: { remaining: number };
  /** No request is sent before this time, because a host may block clients that ignore its rate limit. */
  #limitedUntil: Date | undefined;
  #userId: number | undefined;

  /** Pages with their ETags, by path. The least recently read page is first. */
  readonly #pages = new Map<string, { readonly tag: string; readonly page: Page<unknown> }>();

  /** @throws UserError for an address without encryption. */
  constructor(options: HostClientOptions) {
    const { api, shown, settings, maxPauseMs } = options;
    const { protocol, hostname, host } = new URL(api);
    this.#options = options;
    this.#host = host;
    this.#budget = { remaining: maxPauseMs };
    if (protocol !== 'https:' && !isLoopback(hostname)) {
      throw new UserError(`the token of ${shown} would be sent to ${api} without encryption`, {
        hint: `Set ${settings.api} to an https address.`,
      });
    }
  }

  get app(): number | undefined {
    return this.#options.credentials.app;
  }

  get login(): string | undefined {
    return this.#options.credentials.login;
  }

  async close(): Promise<void> {
    await this.#web.close();
  }

  /** Sends a request and returns the parsed body of the response. @throws HostProblem */
  async request<T>(method: Method, path: string, form: z.ZodType<T>, body?: unknown): Promise<T> {
    return this.#read(form, await this.#send(method, path, { body }));
  }

  /** Returns the id of the user of the credentials. @throws HostProblem */
  async userId(): Promise<number> {
    this.#userId ??= (await this.request('GET', '/user', z.object({ id: z.number() }))).id;
    return this.#userId;
  }

  /** Downloads a file. @throws HostProblem */
  async file(path: string): Promise<Buffer> {
    return (await this.#send('GET', path)).body;
  }

  /**
   * Returns the items of all pages of a list.
   * @throws HostProblem, also if the list has more than the maximum number of pages.
   */
  async requestAll<T>(path: string, form: z.ZodType<T>, options: ListOptions = {}): Promise<readonly T[]> {
    const { pages = MAX_PAGES, isKept = false, field } = options;
    const items: T[] = [];
    let next: string | undefined = path;
    for (let page = 1; next !== undefined; page++) {
      if (page > pages) throw refusal(`${withoutQuery(path)} of ${this.#host} has more than ${pages} pages`);
      const read: Page<T> = isKept
        ? await this.#changedPage(next, form)
        : this.#readPage(form, await this.#send('GET', next), field);
      items.push(...read.items);
      next = read.next;
    }
    return items;
  }

  async #changedPage<T>(path: string, form: z.ZodType<T>): Promise<Page<T>> {
    const cached = this.#pages.get(path);
    const result = await this.#send('GET', path, cached && { headers: { 'if-none-match': cached.tag } });
    // The cast is safe, because a path is always read with the same schema.
    const isUnchanged = cached !== undefined && result.status === NOT_MODIFIED;
    const page = isUnchanged ? (cached.page as Page<T>) : this.#readPage(form, result);
    const tag = isUnchanged ? cached.tag : result.headers.etag;
    this.#pages.delete(path);
    if (tag !== undefined) this.#pages.set(path, { tag, page });
    const [oldest] = this.#pages.keys();
    if (this.#pages.size > MAX_CACHED_PAGES && oldest !== undefined) this.#pages.delete(oldest);
    return page;
  }

  #readPage<T>(form: z.ZodType<T>, result: ApiResponse, field?: string): Page<T> {
    const list = z.array(form);
    const items =
      field === undefined ? this.#read(list, result) : (this.#read(z.object({ [field]: list }), result)[field] ?? []);
    return { items, next: this.#nextOf(result) };
  }

  /** Returns the path of the next page, if any. @throws HostProblem for a link outside the API: no other server may get the token. */
  #nextOf({ headers, status }: ApiResponse): string | undefined {
    const [, next] = /<([^>]*)>\s*;[^,]*\brel="?next"?/.exec(String(headers.link ?? '')) ?? [];
    if (next === undefined) return undefined;
    const api = new URL(this.#options.api);
    const below = api.pathname.replace(/\/$/, '');
    const url = URL.parse(next, `${this.#options.api}/`);
    if (url?.origin === api.origin && url.pathname.startsWith(`${below}/`))
      return url.pathname.slice(below.length) + url.search;
    throw new HostProblem(
      `the next page of a list is not in the API of ${this.#host}`,
      { reason: 'refused', status },
      { hint: `Check ${this.#options.settings.api}, and whether a proxy rewrites responses.` },
    );
  }

  async #send(method: Method, path: string, parts: RequestParts = {}): Promise<ApiResponse> {
    const { signal } = this.#options;
    if (this.#limitedUntil !== undefined && Date.now() < this.#limitedUntil.getTime())
      throw this.#limit(this.#limitedUntil);
    const isSafeToRetry = (result: AttemptResult): boolean =>
      method === 'GET' || (result.type === 'failure' && !result.sent);
    const { result } = await sendWithRetries(() => this.#attempt(method, path, parts), {
      mayRetry: (result, attempts) =>
        pauseOf(result) !== undefined
          ? attempts < MAX_TRIES_THROTTLED
          : attempts < MAX_TRIES && isTemporary(result) && isSafeToRetry(result),
      requestedPause: pauseOf,
      budget: this.#budget,
      wait: ({ requested, attempts }) => this.#wait(requested, attempts),
    });
    signal.throwIfAborted();
    const isUsable = (status: number): boolean =>
      isSuccess(status) || (status === NOT_MODIFIED && parts.headers !== undefined);
    if (result.type === 'response' && isUsable(result.status)) return result;
    throw this.#problem(`${method} ${withoutQuery(path)}`, result, isSafeToRetry(result));
  }

  /** Sends a request once. If the host rejects a token that can be renewed, sends the request again with a new token. */
  async #attempt(method: Method, path: string, { headers, body }: RequestParts): Promise<AttemptResult> {
    const { api, credentials, kind, network, signal } = this.#options;
    for (let isRenewed = false; ; isRenewed = true) {
      const token = await credentials.token();
      signal.throwIfAborted();
      const result = await this.#web.send({
        method,
        url: new URL(api + path),
        network,
        headers: { ...kind.headers, ...headers, authorization: `Bearer ${token.reveal()}` },
        body: body === undefined ? undefined : JSON.stringify(body),
        signal,
      });
      signal.throwIfAborted();
      const isRejected = result.type === 'response' && result.status === 401;
      if (!isRejected || isRenewed || credentials.renew?.(token) !== true) return result;
    }
  }

  #read<T>(form: z.ZodType<T>, { status, body }: ApiResponse): T {
    const parsed = form.safeParse(tryParseJson(body.toString('utf8')));
    if (parsed.success) return parsed.data;
    const at = parsed.error.issues[0]?.path.join('.') ?? '';
    const where = at === '' ? '' : ` (${at})`;
    throw new HostProblem(
      `${this.#host} returned a response that is not from the API of a code host${where}`,
      { reason: 'refused', status },
      { hint: `Check ${this.#options.settings.api}, and whether a proxy or a sign-in page responded instead.` },
    );
  }

  async #wait(requested: number | undefined, attempts: number): Promise<void> {
    const { onNotice, signal } = this.#options;
    if (requested !== undefined && attempts === 1)
      onNotice(`${this.#host} limits requests: waiting ${Math.ceil(requested / 1000)} s`);
    const pause = requested ?? backoff(attempts, Math.random);
    await delay(pause, undefined, { signal }).catch(() => signal.throwIfAborted());
  }

  #limit(until: Date): HostProblem {
    const { maxPause } = this.#options.settings;
    const hint = maxPause === undefined ? {} : { hint: `Try again then, or wait longer with ${maxPause}.` };
    return new HostProblem(
      `${this.#host} limits requests until ${until.toISOString()}`,
      { reason: 'limited', until },
      hint,
    );
  }

  #problem(request: string, result: AttemptResult, isSafeToRetry: boolean): HostProblem {
    const { redact, network, shown, credentials, rights, settings } = this.#options;
    const host = this.#host;
    const failure = { reason: isSafeToRetry ? 'unreachable' : 'unclear' } as const;
    if (result.type === 'failure') {
      const timeoutSeconds = LIMITS.timeoutMilliseconds / 1000;
      const words = failureWords({ ...LIMITS, ...network, host, timeoutSeconds, redact }, result);
      return new HostProblem(words, failure);
    }
    const limit = pauseOf(result);
    if (limit !== undefined) {
      this.#limitedUntil = new Date(Date.now() + limit);
      return this.#limit(this.#limitedUntil);
    }
    const { status, body } = result;
    const { detail, code } = readErrorBody(body, redact);
    const summary = [status, detail ?? code].filter(Boolean).join(' ');
    if (isTemporary(result)) return new HostProblem(`${host} responded to ${request} with ${summary}`, failure);
    const needs = `${credentials.shown.replace(/^t/, 'T')} needs ${rights}.`;
    const moved = [`${shown} has moved (${summary})`, `Check ${settings.repository}.`] as const;
    const [message, hint] = (
      {
        301: moved,
        307: moved,
        308: moved,
        401: [
          `${host} rejected ${credentials.shown} (${summary})`,
          `Check its value and whether it has expired. ${needs}`,
        ],
        403: [`no permission for ${shown} (${summary})`, needs],
        404: [`${shown} was not found (${summary})`, `Check ${settings.repository}. ${needs}`],
      } as Readonly<Record<number, readonly [string, string]>>
    )[status] ?? [`${shown}: ${summary}`];
    return new HostProblem(message, { reason: 'refused', status }, hint === undefined ? {} : { hint });
  }
}

function withoutQuery(path: string): string {
  return path.replace(/\?.*/, '');
}

/** Returns true for status 408, for 5xx, and for temporary network failures. */
function isTemporary(result: AttemptResult): boolean {
  if (result.type === 'failure') return !isPermanentFailure(result.error);
  return result.status === 408 || result.status >= 500;
}

/** Returns the wait in milliseconds after a rate-limited response; undefined for other results. */
function pauseOf(result: AttemptResult): number | undefined {
  if (result.type === 'failure') return undefined;
  const { status, headers, body } = result;
  const requested = retryAfter(headers, Date.now());
  const isSecondary = (): boolean => /"documentation_url":\s*"[^"]*rate-limit/.test(body.toString('utf8'));
  const isExhausted = headers['x-ratelimit-remaining'] === '0' || requested !== undefined;
  if (status !== 429 && !(status === 403 && (isExhausted || isSecondary()))) return undefined;
  return Math.min(Math.max(requested ?? untilReset(headers) ?? DEFAULT_PAUSE_MS, 100), MAX_PAUSE_MS);
}

/** Returns the milliseconds until the limit resets, by the host's clock if known; undefined if unknown or past. */
function untilReset(headers: ApiResponse['headers']): number | undefined {
  const reset = Number(headers['x-ratelimit-reset'] ?? headers['ratelimit-reset']);
  const sentAt = Date.parse(String(headers.date));
  const remaining = reset * 1000 - (Number.isNaN(sentAt) ? Date.now() : sentAt);
  return remaining > 0 ? remaining + 1000 : undefined;
}
