import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { readErrorBody } from '../platform/error-body.ts';
import { type AttemptResult, isSuccess } from '../platform/exchange.ts';
import { failureWords } from '../platform/failure.ts';
import { backoff, isLasting, MAX_TRIES, MAX_TRIES_THROTTLED, retryAfter, sendWithRetries } from '../platform/retry.ts';
import { type Network, WebClient } from '../platform/web-client.ts';
import { UserError, type UserErrorOptions } from '../problems/user-error.ts';
import { tryParseJson } from '../values/json.ts';
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

/** True if the host answered that a record does not exist. */
export function isMissing(error: unknown): boolean {
  return error instanceof HostProblem && error.failure.why === 'refused' && error.failure.status === 404;
}

/** Returns the problem for a valid response that cannot be used. */
export function refusal(message: string): HostProblem {
  return new HostProblem(message, { why: 'refused', status: 200 });
}

/** Access to a host, for its API and for git over HTTPS. */
export interface HostCredentials {
  /** The name in messages, such as `the token NAME`. */
  readonly shown: string;
  /** The id of the GitHub App that writes with these credentials; undefined for a user. */
  readonly app?: number | undefined;
  /** The name of the user that writes with these credentials, if they cannot query it. */
  readonly login?: string | undefined;
  /** A valid token. @throws HostProblem */
  token(): Promise<Secret>;
  /** Forgets a token that the host rejected. Returns true if `token` can now return another one. */
  renew?(rejected: Secret): boolean;
}

/** The settings that a person can correct, as messages name them. */
interface SettingNames {
  readonly api: string;
  readonly repository: string;
  /** Undefined if the longest pause is not a setting. */
  readonly longestPause?: string;
}

export interface HostClientOptions {
  /** Address of the API, without a final slash. */
  readonly api: string;
  /** The repository for messages. */
  readonly shown: string;
  readonly credentials: HostCredentials;
  /** The permissions that the credentials need, for messages. */
  readonly rights: string;
  readonly settings: SettingNames;
  readonly kind: { readonly headers?: Readonly<Record<string, string>> };
  readonly network: Network;
  readonly signal: AbortSignal;
  /** The maximum time in milliseconds that the host may make all requests wait. */
  readonly longestPause: number;
  redact(text: string): string;
  onNotice(message: string): void;
}

const LIMITS = { connections: 4, timeoutMilliseconds: 30_000, maxBodyBytes: 32 * 1024 * 1024 };
/** The pause in milliseconds if a host limits requests without giving a time. */
const USUAL_PAUSE = 60_000;

/** The default maximum number of pages of a list. */
const MAX_PAGES = 20;
/** The number of pages that a client remembers for conditional requests. */
const MAX_KEPT_PAGES = 200;

/** A page of a list, and the path of the next one. */
interface Page<T> {
  readonly items: readonly T[];
  readonly next: string | undefined;
}

type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';

interface ListOptions {
  /** The maximum number of pages. */
  readonly pages?: number;
  /** True to keep the pages in memory, and to read only those that have changed. */
  readonly isKept?: boolean;
  /** The field of the answer that has the items. By default, the answer is a list. */
  readonly field?: string;
}

interface RequestParts {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

const NOT_MODIFIED = 304;

type Answer = AttemptResult & { readonly type: 'response' };

/** A JSON client for the API of a host. */
export class HostClient {
  readonly #options: HostClientOptions;
  readonly #host: string;
  readonly #web = new WebClient(LIMITS);
  readonly #budget: { remaining: number };
  /** No request is sent before this time: the host limits requests, and may block clients that do not wait. */
  #limitedUntil: Date | undefined;

  /** Pages with their ETags, by path. The least recently read page is first. */
  readonly #pages = new Map<string, { readonly tag: string; readonly page: Page<unknown> }>();

  /** @throws UserError for an address without encryption. */
  constructor(options: HostClientOptions) {
    const { api, shown, settings, longestPause } = options;
    const { protocol, hostname, host } = new URL(api);
    this.#options = options;
    this.#host = host;
    this.#budget = { remaining: longestPause };
    if (protocol !== 'https:' && !isLoopback(hostname)) {
      throw new UserError(`${api} would get the token of ${shown} without encryption`, {
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

  /** The body of the response. @throws HostProblem */
  async ask<T>(method: Method, path: string, form: z.ZodType<T>, body?: unknown): Promise<T> {
    return this.#read(form, await this.#send(method, path, { body }));
  }

  /** A file. @throws HostProblem */
  async file(path: string): Promise<Buffer> {
    return (await this.#send('GET', path)).body;
  }

  /**
   * The items of all pages of a list.
   * @throws HostProblem, also for a list of more pages than the maximum.
   */
  async askAll<T>(path: string, form: z.ZodType<T>, options: ListOptions = {}): Promise<readonly T[]> {
    const { pages = MAX_PAGES, isKept = false, field } = options;
    const items: T[] = [];
    let next: string | undefined = path;
    for (let page = 1; next !== undefined; page++) {
      if (page > pages) throw refusal(`${this.#host} lists more than ${pages} pages of ${withoutQuery(path)}`);
      const read: Page<T> = isKept ? await this.#changedPage(next, form) : await this.#page(next, form, field);
      items.push(...read.items);
      next = read.next;
    }
    return items;
  }

  async #page<T>(path: string, form: z.ZodType<T>, field: string | undefined): Promise<Page<T>> {
    return this.#readPage(form, await this.#send('GET', path), field);
  }

  async #changedPage<T>(path: string, form: z.ZodType<T>): Promise<Page<T>> {
    const kept = this.#pages.get(path);
    const answer = await this.#send('GET', path, kept && { headers: { 'if-none-match': kept.tag } });
    // A path is always read in the same form.
    const isUnchanged = kept !== undefined && answer.status === NOT_MODIFIED;
    const page = isUnchanged ? (kept.page as Page<T>) : this.#readPage(form, answer);
    const tag = isUnchanged ? kept.tag : answer.headers.etag;
    this.#pages.delete(path);
    if (tag !== undefined) this.#pages.set(path, { tag, page });
    const [oldest] = this.#pages.keys();
    if (this.#pages.size > MAX_KEPT_PAGES && oldest !== undefined) this.#pages.delete(oldest);
    return page;
  }

  #readPage<T>(form: z.ZodType<T>, answer: Answer, field?: string): Page<T> {
    const list = z.array(form);
    const items =
      field === undefined ? this.#read(list, answer) : (this.#read(z.object({ [field]: list }), answer)[field] ?? []);
    return { items, next: this.#nextOf(answer) };
  }

  /** The path of the next page. A link outside of the API is refused, because no other server may receive the token. */
  #nextOf({ headers, status }: Answer): string | undefined {
    const [, next] = /<([^>]*)>\s*;[^,]*\brel="?next"?/.exec(String(headers.link ?? '')) ?? [];
    if (next === undefined) return undefined;
    const api = new URL(this.#options.api);
    const below = api.pathname.replace(/\/$/, '');
    const url = URL.parse(next, `${this.#options.api}/`);
    if (url?.origin === api.origin && url.pathname.startsWith(`${below}/`))
      return url.pathname.slice(below.length) + url.search;
    throw new HostProblem(
      `${this.#host} continues a list outside of its API`,
      { why: 'refused', status },
      { hint: `Check ${this.#options.settings.api}, and whether a proxy is in between.` },
    );
  }

  async #send(method: Method, path: string, parts: RequestParts = {}): Promise<Answer> {
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

  /** One attempt, repeated once with a new token if the host rejects a token that can be renewed. */
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

  #read<T>(form: z.ZodType<T>, { status, body }: Answer): T {
    const parsed = form.safeParse(tryParseJson(body.toString('utf8')));
    if (parsed.success) return parsed.data;
    const at = parsed.error.issues[0]?.path.join('.') ?? '';
    const where = at === '' ? '' : ` (${at})`;
    throw new HostProblem(
      `${this.#host} did not answer as the API of a host does${where}`,
      { why: 'refused', status },
      { hint: `Check ${this.#options.settings.api}, and whether a proxy or a sign-in page is in between.` },
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
    const { longestPause } = this.#options.settings;
    const hint = longestPause === undefined ? {} : { hint: `Try again then, or wait longer with ${longestPause}.` };
    return new HostProblem(
      `${this.#host} limits requests until ${until.toISOString()}`,
      { why: 'limited', until },
      hint,
    );
  }

  #problem(what: string, result: AttemptResult, isSafeToRetry: boolean): HostProblem {
    const { redact, network, shown, credentials, rights, settings } = this.#options;
    const host = this.#host;
    const failure = { why: isSafeToRetry ? 'unreachable' : 'unclear' } as const;
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
    if (isTemporary(result)) return new HostProblem(`${host} answered ${what} with ${summary}`, failure);
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
    return new HostProblem(message, { why: 'refused', status }, hint === undefined ? {} : { hint });
  }
}

function withoutQuery(path: string): string {
  return path.replace(/\?.*/, '');
}

/** True for status 408, for 5xx, and for temporary network failures. */
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

/** Returns the milliseconds until the limit resets, by the host's clock if known; undefined if unknown or past. */
function untilReset(headers: Answer['headers']): number | undefined {
  const reset = Number(headers['x-ratelimit-reset'] ?? headers['ratelimit-reset']);
  const sentAt = Date.parse(String(headers.date));
  const left = reset * 1000 - (Number.isNaN(sentAt) ? Date.now() : sentAt);
  return left > 0 ? left + 1000 : undefined;
}
