import type { IncomingHttpHeaders } from 'node:http';
import { errorCode } from '../problems/error-code.ts';
import { parsedJson } from '../values/json.ts';
import { isLoopback } from '../values/loopback.ts';
import type { AttemptResult } from './exchange.ts';

export type Method = 'GET' | 'POST' | 'PUT';

export const MAX_TRIES = 5;
/** The maximum after a 429, which guarantees that nothing happened. The longest pause usually ends it sooner. */
export const MAX_TRIES_THROTTLED = 20;

/** Milliseconds. */
interface BackoffRange {
  readonly first: number;
  readonly longest: number;
}

const BACKOFF: BackoffRange = { first: 500, longest: 30_000 };

interface RetryPolicy {
  /** True if another attempt may succeed and is safe. */
  mayRetry(result: AttemptResult, attempts: number): boolean;
  /** Milliseconds that the server asks for, if any. */
  requestedPause(result: AttemptResult): number | undefined;
  /** Milliseconds for all requested pauses together. Requests may share it. */
  readonly budget: { left: number };
  /** Waits. Rejects to end all attempts. */
  wait(pause: RetryPause): Promise<void>;
}

interface RetryPause {
  /** Undefined for a backoff. */
  readonly requested: number | undefined;
  readonly result: AttemptResult;
  readonly attempts: number;
}

interface LastAttempt {
  readonly result: AttemptResult;
  readonly attempts: number;
  /** Milliseconds that the server asked for, if that exceeds the budget. */
  readonly tooLong?: number;
}

/** Sends a request until it succeeds or the policy ends it. All HTTP clients of voxform retry here. */
export async function sendWithRetries(
  send: (attempt: number) => Promise<AttemptResult>,
  { mayRetry, requestedPause, budget, wait }: RetryPolicy,
): Promise<LastAttempt> {
  for (let attempts = 1; ; attempts++) {
    const result = await send(attempts);
    if (!mayRetry(result, attempts)) return { result, attempts };
    const requested = requestedPause(result);
    if (requested !== undefined && requested > budget.left) return { result, attempts, tooLong: requested };
    budget.left -= requested ?? 0;
    await wait({ requested, result, attempts });
  }
}

/** True if the platform may have executed the request of this attempt. A read changes nothing. */
export function mayHaveTakenEffect(method: Method, result: AttemptResult): boolean {
  if (method === 'GET') return false;
  if (result.type === 'failure') return result.sent;
  // The conflict may be with an earlier copy of this request, which a proxy sent twice.
  if (result.status === 409) return method === 'POST';
  const isRefused = result.status >= 400 && result.status < 500 && !GAVE_UP.has(result.status);
  return !DECLINES.has(result.status) && !isRefused;
}

/**
 * A gateway stopped waiting: 408, and the codes of load balancers for a client that disconnected (460, 499). The platform may have executed
 * the request.
 */
const GAVE_UP: ReadonlySet<number> = new Set([408, 460, 499]);

/** Redirects that ask to repeat the request elsewhere. Some servers answer a completed request with the others (302, 303). */
const DECLINES: ReadonlySet<number> = new Set([301, 307, 308]);

/** True for the response of an overloaded or unavailable platform. */
export function isRefusal(status: number): boolean {
  return status === 408 || status === 429 || status >= 500;
}

/**
 * True if a gateway or a proxy, not the platform, has answered that the path does not exist or access is denied. The platform's own errors
 * are JSON or empty.
 */
export function isGatewayResponse(result: AttemptResult): boolean {
  if (result.type !== 'answer' || ![403, 404, 410].includes(result.status)) return false;
  const text = result.body
    .toString('utf8')
    .replace(/^\ufeff/, '')
    .trim();
  if (text === '') return false;
  const value = parsedJson(text);
  // A plain text such as `404` is valid JSON by accident.
  const isAccident = typeof value !== 'object' || value === null;
  const isJson = value !== undefined && /json/i.test(single(result.headers['content-type']) ?? '');
  return isAccident && !isJson;
}

/**
 * Whether to retry. Reads and PUTs are retried after any temporary failure; a POST only if it certainly did not happen, because the platform
 * would create a second record.
 */
export function isRetried(method: Method, result: AttemptResult, tries: number): boolean {
  if (result.type === 'answer' && result.status === 429) return tries < MAX_TRIES_THROTTLED;
  if (tries >= MAX_TRIES) return false;
  if (result.type === 'answer') {
    const { status } = result;
    // 501: not implemented. 403: the refusal is permanent.
    if (status === 501 || status === 403) return false;
    return method !== 'POST' && (isRefusal(status) || isGatewayResponse(result));
  }
  if (result.reason === 'aborted' || result.reason === 'too-large' || isLasting(result.error)) return false;
  return method !== 'POST' || !result.sent;
}

/** The backoff in milliseconds: it doubles with each attempt, and half of it is random, so that clients spread. */
export function backoff(attempts: number, random: () => number, { first, longest } = BACKOFF): number {
  const full = Math.min(longest, first * 2 ** (attempts - 1));
  return full / 2 + (random() * full) / 2;
}

/** Milliseconds that the refusal of an overloaded server asks for. */
export function pauseOfRefusal(result: AttemptResult, now: number): number | undefined {
  return result.type === 'answer' && isRefusal(result.status) ? retryAfter(result.headers, now) : undefined;
}

/** Milliseconds until `Retry-After`, given in seconds or as a date; undefined if it is absent, past or unreadable. */
export function retryAfter(headers: IncomingHttpHeaders, now: number): number | undefined {
  const text = single(headers['retry-after'])?.trim();
  if (text === undefined || text === '') return undefined;
  if (/^\d+(\.\d+)?$/.test(text)) return positive(Number(text) * 1000);
  const date = Date.parse(text);
  if (Number.isNaN(date) || !/[a-z]/i.test(text)) return undefined;
  // Relative to the platform's clock if it sends its time: ours may differ.
  const sentAt = Date.parse(single(headers.date) ?? '');
  return positive(date - (Number.isNaN(sentAt) ? now : sentAt));
}

function positive(milliseconds: number): number | undefined {
  return milliseconds > 0 ? milliseconds : undefined;
}

function single(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}

/** True for failures that every retry would repeat: certificates, a port without TLS, a proxy that refuses. */
export function isLasting(error: Error | undefined): boolean {
  const code = errorCode(error);
  return (
    code !== undefined &&
    /^(PROXY_REFUSED$|ERR_TLS|ERR_SSL|EPROTO$|CERT_|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_|HOSTNAME_)/.test(code)
  );
}

/**
 * True if nothing listens at a local address, where a retry is pointless. Another host that refuses connections may be a load balancer that
 * switches servers.
 */
export function isClosedLocalPort(host: string, result: AttemptResult): boolean {
  return result.type === 'failure' && errorCode(result.error) === 'ECONNREFUSED' && isLoopback(host);
}
