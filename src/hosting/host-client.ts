import type { IncomingHttpHeaders } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { z } from 'zod';
import type { AttemptResult } from '../platform/attempt-result.ts';
import { readErrorBody } from '../platform/error-body.ts';
import { isSuccess } from '../platform/exchange.ts';
import { networkReason } from '../platform/network-reason.ts';
import { ProxyFailure } from '../platform/proxy.ts';
import { backoff, isLasting, retryAfter } from '../platform/retry.ts';
import { type Network, WebClient } from '../platform/web-client.ts';
import { attempt } from '../problems/attempt.ts';
import { errorCode } from '../problems/error-code.ts';
import { UserError } from '../problems/user-error.ts';
import { isLoopback } from '../values/loopback.ts';
import type { Secret } from '../values/value.ts';
import { HostProblem } from './host-problem.ts';

interface HostClientOptions {
  /** Without a slash at the end. */
  readonly api: string;
  /** How messages call the repository. */
  readonly shown: string;
  readonly token: Secret;
  /** Rights that the token needs, for messages. */
  readonly rights: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly network: Network;
  readonly signal: AbortSignal;
  /** Milliseconds that all pauses may take together. */
  readonly patience: number;
  redact(text: string): string;
  onNotice(message: string): void;
}

type HostMethod = 'GET' | 'HEAD' | 'POST' | 'PATCH' | 'PUT';

interface Asking {
  readonly body?: unknown;
  /** True for a POST that changes nothing. */
  readonly isRead?: boolean;
  /** True for a success that says that the host limits requests. */
  isLimited?(body: unknown): boolean;
}

interface HostAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
}

const MOST_TRIES = 5;
/** The same where the host limits requests: patience ends it before, unless the pauses are very short. */
const MOST_TRIES_LIMITED = 20;
const TIMEOUT = 30_000;
const LIMITS = { connections: 4, timeoutMilliseconds: TIMEOUT, maxBodyBytes: 32 * 1024 * 1024 };
/** What a host without a word on it wants to be left alone. */
const USUAL_PAUSE = 60_000;

/** Speaks JSON with the API of a host. */
export class HostClient {
  readonly #options: HostClientOptions;
  readonly #api: URL;
  readonly #authorization: string;
  readonly #web = new WebClient(LIMITS);
  #patience: number;

  /** @throws UserError where the token or the address cannot be used. */
  constructor(options: HostClientOptions) {
    const { api, token, patience } = options;
    this.#options = options;
    this.#patience = patience;
    this.#api = new URL(api);
    if (this.#api.protocol !== 'https:' && !isLoopback(this.#api.hostname)) {
      throw new UserError(`${api} would get the token ${token.name} without encryption`, {
        hint: 'Set pull_requests.api_url to an https address.',
      });
    }
    if (!token.isSet) {
      throw new UserError(`the token ${token.name} is not set`, {
        hint: `Set ${token.name} in the environment or .env, or put it into a file ${token.name} in the secrets_dir. It needs ${options.rights}. Another name: pull_requests.token.`,
      });
    }
    if (!/^[\x21-\x7e]+$/.test(token.reveal())) {
      throw new UserError(`the token ${token.name} contains spaces, line breaks or invalid characters`);
    }
    this.#authorization = `Bearer ${token.reveal()}`;
  }

  /** Without a slash at the end. */
  get api(): string {
    return this.#options.api;
  }

  async close(): Promise<void> {
    await this.#web.close();
  }

  async get<T>(path: string, form: z.ZodType<T>): Promise<T> {
    return this.read(form, (await this.ask('GET', path)).body);
  }

  /** Undefined for what is not there. */
  async find(method: 'GET' | 'HEAD', path: string): Promise<HostAnswer | undefined> {
    try {
      return await this.ask(method, path);
    } catch (error) {
      if (error instanceof HostProblem && error.trouble.why === 'refused' && error.trouble.status === 404)
        return undefined;
      throw error;
    }
  }

  /** @throws HostProblem for an answer of another form. */
  read<T>(form: z.ZodType<T>, body: unknown): T {
    const parsed = form.safeParse(body);
    if (parsed.success) return parsed.data;
    const at = parsed.error.issues[0]?.path.join('.') ?? '';
    throw this.#notApi(200, at === '' ? '' : ` (${at})`);
  }

  /** @throws HostProblem */
  async ask(method: HostMethod, path: string, asking: Asking = {}): Promise<HostAnswer> {
    const { body, isRead = method === 'GET' || method === 'HEAD' } = asking;
    for (let tries = 1; ; tries++) {
      const result = await this.#send(method, path, body);
      this.#options.signal.throwIfAborted();
      const answer = result.type === 'answer' && isSuccess(result.status) ? this.#answer(result) : undefined;
      const limit = limitOf(result, answer !== undefined && asking.isLimited?.(answer.body) === true);
      if (limit !== undefined) {
        this.#spend(limit, tries);
        await this.#wait(limit, tries === 1);
        continue;
      }
      if (answer !== undefined) return answer;
      const mayPass = result.type === 'failure' ? !isLasting(result.error) : isPassing(result.status);
      const isUndone = result.type === 'failure' && !result.sent;
      const pause = backoff(tries, Math.random);
      if (!mayPass || !(isRead || isUndone) || tries === MOST_TRIES || pause > this.#patience)
        throw this.#problem(`${method} ${path.replace(/\?.*/, '')}`, result, isRead || isUndone);
      this.#patience -= pause;
      await this.#wait(pause, false);
    }
  }

  /** What a refusal means, with what helps. @param said begins with the status. */
  refusal(status: number, said: string): HostProblem {
    const { shown, token, rights } = this.#options;
    const trouble = { why: 'refused', status } as const;
    const needs = `The token ${token.name} needs ${rights}.`;
    switch (status) {
      case 401:
        return new HostProblem(`${this.#api.host} rejected the token ${token.name} (${said})`, trouble, {
          hint: `Set ${token.name} to a valid token. It needs ${rights}.`,
        });
      case 403:
        return new HostProblem(`no permission for ${shown} (${said})`, trouble, { hint: needs });
      case 404:
        return new HostProblem(`${shown} was not found (${said})`, trouble, {
          hint: `Check pull_requests.repository. ${needs}`,
        });
      default:
        return new HostProblem(`${shown}: ${said}`, trouble);
    }
  }

  async #send(method: HostMethod, path: string, body: unknown): Promise<AttemptResult> {
    const { signal, headers, network } = this.#options;
    signal.throwIfAborted();
    return this.#web.send({
      method,
      url: new URL(this.#options.api + path),
      network,
      headers: { ...headers, authorization: this.#authorization },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
    });
  }

  #answer({ status, headers, body }: AttemptResult & { type: 'answer' }): HostAnswer {
    if (body.length === 0) return { status, headers, body: undefined };
    const parsed = attempt(() => ({ value: JSON.parse(body.toString('utf8')) as unknown }));
    if (parsed === undefined) throw this.#notApi(status, '');
    return { status, headers, body: parsed.value };
  }

  #notApi(status: number, detail: string): HostProblem {
    const message = `${this.#api.host} did not answer as the API of a host does${detail}`;
    const hint = 'Check pull_requests.api_url, and whether a proxy or a sign-in page is in between.';
    return new HostProblem(message, { why: 'refused', status }, { hint });
  }

  /** @throws HostProblem where the patience is shorter. */
  #spend(milliseconds: number, tries: number): void {
    if (milliseconds > this.#patience || tries === MOST_TRIES_LIMITED) {
      const until = new Date(Date.now() + milliseconds);
      const message = `${this.#api.host} limits requests until ${until.toISOString()}`;
      const hint = 'Try again then, or wait longer with --max-wait.';
      throw new HostProblem(message, { why: 'limited', until }, { hint });
    }
    this.#patience -= milliseconds;
  }

  async #wait(milliseconds: number, isTold: boolean): Promise<void> {
    const { onNotice, signal } = this.#options;
    if (isTold) onNotice(`${this.#api.host} limits requests: waiting ${Math.ceil(milliseconds / 1000)} s`);
    await delay(milliseconds, undefined, { signal }).catch(() => signal.throwIfAborted());
  }

  #problem(what: string, result: AttemptResult, isUndone: boolean): HostProblem {
    const { redact } = this.#options;
    const { host } = this.#api;
    const trouble = { why: isUndone ? 'unreachable' : 'unclear' } as const;
    if (result.type === 'answer') {
      const { status, body } = result;
      const { detail, code } = readErrorBody(body, redact);
      const said = [status, detail ?? code].filter(Boolean).join(' ');
      if (isPassing(status)) return new HostProblem(`${host} answered ${what} with ${said}`, trouble);
      return this.refusal(status, said);
    }
    const { reason, error } = result;
    const code = errorCode(error);
    const why =
      reason === 'timeout'
        ? `did not answer within ${TIMEOUT / 1000} s`
        : (networkReason(code) ?? `failed: ${code ?? reason}`);
    return new HostProblem(redact(error instanceof ProxyFailure ? error.message : `${host} ${why}`), trouble);
  }
}

/** A server that is busy, or one on the way that gave up waiting. */
function isPassing(status: number): boolean {
  return status === 408 || status >= 500;
}

/** Milliseconds that the host wants to be left alone; undefined where it limits nothing. */
function limitOf(result: AttemptResult, isSaid: boolean): number | undefined {
  if (result.type === 'failure') return undefined;
  const { status, headers, body } = result;
  const asked = retryAfter(headers, Date.now());
  const isSecondary = (): boolean => /"documentation_url":\s*"[^"]*rate-limit/.test(body.toString('utf8'));
  const isSpent = headers['x-ratelimit-remaining'] === '0' || asked !== undefined;
  if (!isSaid && status !== 429 && !(status === 403 && (isSpent || isSecondary()))) return undefined;
  return Math.max(asked ?? untilReset(headers) ?? USUAL_PAUSE, 100);
}

/** From the moment of the answer, by the host's own clock. */
function untilReset(headers: IncomingHttpHeaders): number | undefined {
  const reset = Number(headers['x-ratelimit-reset'] ?? headers['ratelimit-reset']);
  const sentAt = Date.parse(String(headers.date));
  const left = reset * 1000 - (Number.isNaN(sentAt) ? Date.now() : sentAt);
  return left > 0 ? left + 1000 : undefined;
}
