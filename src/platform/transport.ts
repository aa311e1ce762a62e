import { hash } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import { Redactor } from '../values/redactor.ts';
import type { Secret } from '../values/value.ts';
import { VERSION } from '../version.ts';
import { limitFor } from './choose-limit.ts';
import type { WritePermission } from './client.ts';
import { type Concurrency, maxConcurrency } from './concurrency-limit.ts';
import { bearer, parseBaseUrl } from './connection.ts';
import { decodeJson } from './decode-json.ts';
import { type AttemptResult, Exchange, isSuccess } from './exchange.ts';
import {
  aborted,
  type FailedCall,
  failureOf,
  malformed,
  notSentError,
  pauseTooLongError,
  requestIdOf,
} from './failure.ts';
import { InFlight } from './in-flight.ts';
import { decompress } from './inflate.ts';
import { Connections, type JointLimit } from './joint-limit.ts';
import { oneLine } from './plain-text.ts';
import type { RequestOutcome } from './platform-error.ts';
import { type ProxySettings, secretsOf } from './proxy.ts';
import type { ResponseBudget } from './response-budget.ts';
import {
  backoff,
  isClosedLocalPort,
  isRetried,
  type Method,
  mayHaveTakenEffect,
  pauseOfRefusal,
  sendWithRetries,
} from './retry.ts';
import { PauseTooLong, type Permit, Throttle, type Wait } from './throttle.ts';

export interface TransportOptions {
  /** The http or https URL of the platform. It may have a path. */
  readonly baseUrl: string;
  readonly apiKey: Secret;
  readonly proxy?: ProxySettings | undefined;
  /** PEM certificates that are trusted in addition to Node's own. */
  readonly ca?: string | undefined;
  /** The number of concurrent requests, each on its own connection. */
  readonly concurrency: Concurrency;
  /** The limit shared with other clients, if any. */
  readonly shared?: JointLimit | undefined;
  readonly requestsPerSecond: number | null;
  /** The timeout of one attempt, from connecting to the last byte of the response. */
  readonly timeoutSeconds: number;
  /** The maximum total of the pauses that the platform requests. The default is 300. */
  readonly maxWaitSeconds?: number | undefined;
  /** The maximum size of a response. The default is 64 MiB. */
  readonly maxBodyBytes?: number | undefined;
  /** Limits all reads of this client together. */
  readonly budget?: ResponseBudget | undefined;
  /** Aborts everything, including requests in flight. */
  readonly signal?: AbortSignal | undefined;
  /** Redacts text from the platform. The API key is always redacted. */
  readonly redact?: ((text: string) => string) | undefined;
  /** Called after every attempt. */
  readonly onRequest?: ((event: RequestEvent) => void) | undefined;
  /** Called with one line when a pause of more than a minute begins. */
  readonly onNotice?: ((text: string) => void) | undefined;
  /** Returns a random number between 0 and 1, which varies the pauses. */
  readonly random?: (() => number) | undefined;
  /** Returns the time in milliseconds since 1970. */
  readonly now?: (() => number) | undefined;
  readonly wait?: Wait | undefined;
}

export interface RequestEvent {
  readonly method: Method;
  /** Path and query, without the path of the base URL. */
  readonly path: string;
  readonly status?: number | undefined;
  /** The number of the attempt, starting at 1. */
  readonly attempt: number;
  readonly milliseconds: number;
  /** The reason why there is no complete response, as in `PlatformError`. */
  readonly error?: string | undefined;
}

export interface TransportRequest {
  readonly method: Method;
  /** The path and query. It begins with `/api/v1` and is percent-encoded. */
  readonly path: string;
  readonly body?: unknown;
  /** After this signal aborts, the request is no longer sent, unless an earlier attempt may have succeeded. */
  readonly cancelWrites?: AbortSignal | undefined;
  /** The permission to write. It is checked right before the first byte is sent. */
  readonly permission?: WritePermission | undefined;
  /** The digest of the last response, or an empty string. If given, the result has a digest, and a body only if the digest changed. */
  readonly lastDigest?: string | undefined;
}

export interface TransportResponse {
  readonly status: number;
  readonly body: unknown;
  readonly requestId: string | undefined;
  /** SHA-256 of the bytes of the body. */
  readonly digest?: string | undefined;
}

interface OpenCall {
  readonly method: Method;
  readonly path: string;
  readonly body: Buffer | undefined;
  readonly permission: WritePermission | undefined;
  readonly pool: Dispatcher;
}

export class Transport {
  readonly #options: TransportOptions;
  readonly #connections: Connections;
  readonly #redact: (text: string) => string;
  readonly #throttle: Throttle;
  readonly #origin: string;
  readonly #host: string;
  readonly #basePath: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #headersWithBody: Readonly<Record<string, string>>;
  readonly #limits: { readonly timeoutMilliseconds: number; readonly maxBodyBytes: number };
  readonly #maxWaitSeconds: number;
  #hasResponded = false;
  readonly #stop = new AbortController();
  /** An array rather than a Set, because the freed entries of a Set would keep old responses in memory. */
  readonly #exchanges: (Exchange | undefined)[] = [];
  readonly #inFlight: InFlight;
  readonly #now: () => number;
  readonly #random: () => number;
  readonly #wait: Wait;

  /** Throws `UserError` for an invalid base URL or key. */
  constructor(options: TransportOptions) {
    const base = parseBaseUrl(options.baseUrl);
    const redactor = new Redactor();
    this.#options = options;
    this.#origin = base.origin;
    this.#host = base.host;
    this.#basePath = base.pathname.replace(/\/+$/, '');
    this.#headers = {
      authorization: bearer(options.apiKey),
      accept: 'application/json',
      'user-agent': `voxform/${VERSION}`,
    };
    this.#headersWithBody = { ...this.#headers, 'content-type': 'application/json' };
    redactor.add(options.apiKey.reveal());
    for (const secret of secretsOf(options.proxy)) redactor.add(secret);
    this.#redact = (text) => redactor.redact(options.redact?.(text) ?? text);
    this.#limits = {
      timeoutMilliseconds: Math.max(1, Math.round(options.timeoutSeconds * 1000)),
      maxBodyBytes: options.maxBodyBytes ?? 64 * 1024 * 1024,
    };
    this.#maxWaitSeconds = options.maxWaitSeconds ?? 300;
    // Unlike Date.now, this is monotonic: a change of the clock must not extend a pause.
    this.#now = options.now ?? (() => performance.timeOrigin + performance.now());
    this.#inFlight = new InFlight(this.#now);
    this.#random = options.random ?? Math.random;
    this.#wait = options.wait ?? ((milliseconds, signal) => sleep(milliseconds, undefined, { signal }));
    setMaxListeners(0, this.#stop.signal);
    this.#throttle = new Throttle({
      limit: limitFor(options.concurrency),
      requestsPerSecond: options.requestsPerSecond,
      maxPauseMs: this.#maxWaitSeconds * 1000,
      signal: this.#stop.signal,
      now: this.#now,
      wait: this.#wait,
      random: this.#random,
      onNotice: options.onNotice,
    });
    const { concurrency, proxy, ca, shared } = options;
    const connectMilliseconds = this.#limits.timeoutMilliseconds;
    const connectOptions = { connections: maxConcurrency(concurrency), connectMilliseconds, proxy, ca };
    this.#connections = new Connections(base.origin, connectOptions, shared);
    if (options.signal?.aborted === true) this.#abort();
    else options.signal?.addEventListener('abort', this.#abort, { once: true });
  }

  /** Sends a request and returns the parsed JSON of a 2xx response. Throws `PlatformError` for any other result. */
  async send(request: TransportRequest): Promise<TransportResponse> {
    const call: OpenCall = {
      method: request.method,
      path: request.path,
      body: request.body === undefined ? undefined : Buffer.from(JSON.stringify(request.body)),
      permission: request.permission,
      pool: await this.#connections.for(request.method),
    };
    let outcome: RequestOutcome = 'not-done';
    const send = async (attempt: number): Promise<AttemptResult> => {
      const permit = await this.#takePermit(() => this.#failedCall(call, outcome, attempt - 1), {
        isRetry: attempt > 1,
        cancelWrites: outcome === 'lost' ? undefined : request.cancelWrites,
        permission: request.permission,
      });
      const result = await this.#attempt(call, attempt, permit);
      if (mayHaveTakenEffect(call.method, result)) outcome = 'lost';
      this.#hasResponded ||= result.type === 'response';
      return result;
    };
    const { result, attempts, tooLong } = await sendWithRetries(send, {
      mayRetry: (result, attempts) =>
        (this.#hasResponded || !isClosedLocalPort(this.#host, result)) && isRetried(call.method, result, attempts),
      requestedPause: (result) => pauseOfRefusal(result, this.#now()),
      budget: { remaining: this.#maxWaitSeconds * 1000 },
      // During a pause, the throttle delays all requests. After any other failure, only this request waits.
      wait: async ({ requested, result, attempts }) => {
        if (requested === undefined && result.status !== 429)
          await this.#backOff(attempts, () => this.#failedCall(call, outcome, attempts));
      },
    });
    const failed = (): FailedCall => this.#failedCall(call, outcome, attempts);
    if (call.method === 'GET') this.#options.budget?.check();
    if (result.type === 'response' && isSuccess(result.status)) return this.#succeed(request, result, failed);
    if (tooLong !== undefined) throw pauseTooLongError(failed(), tooLong, result.status ?? 429);
    throw failureOf(failed(), result);
  }

  /** Returns the current limit of concurrent requests. It depends on the responses so far, the rate and the shared limit. */
  atOnce(): number {
    return Math.min(this.#throttle.atOnce, this.#options.shared?.maxPerPlatform ?? Number.POSITIVE_INFINITY);
  }

  /** Closes the connections. Requests in flight and later ones fail as aborted. */
  async close(): Promise<void> {
    this.#abort();
    this.#options.signal?.removeEventListener('abort', this.#abort);
    await this.#connections.close();
  }

  readonly #abort = (): void => {
    this.#stop.abort();
    for (const exchange of this.#exchanges) exchange?.abort();
  };

  async #backOff(tries: number, failed: () => FailedCall): Promise<void> {
    try {
      await this.#wait(backoff(tries, this.#random), this.#stop.signal);
    } catch (error) {
      if (!this.#stop.signal.aborted) throw error;
    }
    if (this.#stop.signal.aborted) throw aborted(failed());
  }

  /** @throws PlatformError if the request must no longer be sent. */
  async #takePermit(
    failed: () => FailedCall,
    { isRetry, cancelWrites, permission }: Pick<TransportRequest, 'cancelWrites' | 'permission'> & { isRetry: boolean },
  ): Promise<Permit> {
    const stop = this.#stop.signal;
    if (stop.aborted) throw aborted(failed());
    if (cancelWrites?.aborted) throw notSentError(failed());
    try {
      const permit = await this.#throttle.take(isRetry, cancelWrites);
      try {
        cancelWrites?.throwIfAborted();
        await this.#options.shared?.take(this.#origin, cancelWrites === undefined ? [stop] : [stop, cancelWrites]);
      } catch (error) {
        this.#throttle.release();
        throw error;
      }
      try {
        if (permission?.mayWrite === false) {
          await permission.renew().catch((error: unknown) => {
            throw notSentError(failed(), error);
          });
        }
        cancelWrites?.throwIfAborted();
        return permit;
      } catch (error) {
        this.#releasePermit();
        throw error;
      }
    } catch (error) {
      if (error instanceof PauseTooLong) throw pauseTooLongError(failed(), error.milliseconds, error.status);
      if (stop.aborted) throw aborted(failed());
      if (cancelWrites?.aborted) throw notSentError(failed());
      throw error;
    }
  }

  #releasePermit(): void {
    this.#options.shared?.release(this.#origin);
    this.#throttle.release();
  }

  async #attempt(call: OpenCall, attempt: number, permit: Permit): Promise<AttemptResult> {
    const startedAt = this.#now();
    // A write must not become unconfirmed because earlier reads were large.
    const budget = call.method === 'GET' ? this.#options.budget : undefined;
    const exchange = new Exchange({ ...this.#limits, permission: call.permission, budget });
    const free = this.#exchanges.indexOf(undefined);
    const index = free === -1 ? this.#exchanges.length : free;
    this.#exchanges[index] = exchange;
    try {
      // The signal may have aborted since the permit was issued.
      if (this.#stop.signal.aborted) exchange.abort();
      else this.#dispatch(call, exchange);
      const flight = this.#inFlight.begin();
      const raw = await exchange.result;
      const inFlight = this.#inFlight.end(flight);
      const maxBytes = Math.min(this.#limits.maxBodyBytes, budget?.remaining ?? Number.POSITIVE_INFINITY);
      const result = await decompress(raw, maxBytes);
      if (result.type === 'response') budget?.addBytes(result === raw ? 0 : result.body.length);
      else if (result.reason === 'too-large') budget?.addBytes(maxBytes + 1);
      const { milliseconds } = exchange;
      this.#throttle.observe(result, permit, {
        type: requestType(call),
        milliseconds,
        at: this.#now(),
        inFlight,
      });
      this.#options.onRequest?.({
        method: call.method,
        path: call.path,
        status: result.status,
        attempt,
        milliseconds: this.#now() - startedAt,
        error: result.type === 'failure' ? result.reason : undefined,
      });
      return result;
    } finally {
      this.#exchanges[index] = undefined;
      this.#releasePermit();
    }
  }

  #dispatch(call: OpenCall, exchange: Exchange): void {
    call.pool.dispatch(
      {
        origin: this.#origin,
        path: this.#basePath + call.path,
        method: call.method,
        headers: call.body === undefined ? this.#headers : this.#headersWithBody,
        body: call.body ?? null,
      },
      exchange,
    );
  }

  #succeed(
    request: TransportRequest,
    result: AttemptResult & { type: 'response' },
    failed: () => FailedCall,
  ): TransportResponse {
    const { status } = result;
    const requestId = requestIdOf(result.headers, this.#redact);
    const digest = request.lastDigest === undefined ? undefined : hash('sha256', result.body);
    if (digest !== undefined && digest === request.lastDigest) return { status, body: undefined, requestId, digest };
    if (request.method === 'GET') this.#options.budget?.addValues(result.body);
    const contentType = result.headers['content-type'];
    const decoded = decodeJson(result.body, { contentType, redact: this.#redact });
    if ('problem' in decoded) {
      throw malformed(failed(), { status, requestId }, oneLine(decoded.problem, 200, this.#redact));
    }
    return { status, body: decoded.value, requestId, digest };
  }

  #failedCall(call: OpenCall, outcome: RequestOutcome, tries: number): FailedCall {
    return {
      method: call.method,
      path: call.path,
      outcome,
      tries,
      host: this.#host,
      proxy: this.#options.proxy,
      timeoutSeconds: this.#options.timeoutSeconds,
      maxWaitSeconds: this.#maxWaitSeconds,
      maxBodyBytes: this.#limits.maxBodyBytes,
      redact: this.#redact,
    };
  }
}

/** Returns the method and the path without its query and ids. A path segment with a digit counts as an id. */
function requestType({ method, path }: OpenCall): string {
  return `${method} ${path.replace(/\?.*|[^/?]*\d[^/?]*/g, '')}`;
}
