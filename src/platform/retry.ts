import type { IncomingHttpHeaders } from 'node:http';
import { errorCode } from '../problems/error-code.ts';
import { tryParseJson } from '../values/json.ts';
import { isLoopback } from '../values/loopback.ts';
import type { AttemptResult } from './exchange.ts';

export type Method = 'GET' | 'POST' | 'PUT';

export const MAX_TRIES = 5;
/** The maximum number of tries after a 429, which guarantees that nothing was executed. The pause limit usually ends the tries sooner. */
export const MAX_TRIES_THROTTLED = 20;

/** The first and the maximum backoff in milliseconds. */
interface BackoffRange {
  readonly first: number;
  readonly max: number;
}

const BACKOFF: BackoffRange = { first: 500, max: 30_000 };

interface RetryPolicy {
  /** Returns true if another attempt may succeed and is safe. */
  mayRetry(result: AttemptResult, attempts: number): boolean;
  /** Returns the pause in milliseconds that the server asks for, if any. */
  requestedPause(result: AttemptResult): number | undefined;
  /** The remaining milliseconds for all requested pauses. Several requests may share this budget. */
  readonly budget: { remaining: number };
  /** Waits before the next attempt. Rejects to stop the attempts. */
  wait(pause: RetryPause): Promise<void>;
}

interface RetryPause {
  /** The pause in milliseconds that the server asks for. Undefined for a backoff. */
  readonly requested: number | undefined;
  readonly result: AttemptResult;
  readonly attempts: number;
}

interface LastAttempt {
  readonly result: AttemptResult;
  readonly attempts: number;
  /** The pause in milliseconds that the server asked for, if it exceeds the budget. */
  readonly tooLong?: number;
}

/** Sends a request until the policy permits no further attempt. All HTTP clients of voxform use this loop. */
export async function sendWithRetries(
  send: (attempt: number) => Promise<AttemptResult>,
  { mayRetry, requestedPause, budget, wait }: RetryPolicy,
): Promise<LastAttempt> {
  for (let attempts = 1; ; attempts++) {
    const result = await send(attempts);
    if (!mayRetry(result, attempts)) return { result, attempts };
    const requested = requestedPause(result);
    if (requested !== undefined && requested > budget.remaining) return { result, attempts, tooLong: requested };
    budget.remaining -= requested ?? 0;
    await wait({ requested, result, attempts });
  }
}

/** Returns true if the platform may have executed the write of this attempt. */
export function mayHaveTakenEffect(method: Method, result: AttemptResult): boolean {
  if (method === 'GET') return false;
  if (result.type === 'failure') return result.sent;
  // The conflict may be with a copy of this request, if a proxy sent it twice.
  if (result.status === 409) return method === 'POST';
  const isRefused = result.status >= 400 && result.status < 500 && !GATEWAY_TIMEOUTS.has(result.status);
  return !NOT_EXECUTED_REDIRECTS.has(result.status) && !isRefused;
}

/** A gateway stopped waiting (408) or its client disconnected (460, 499). The platform may have executed the request. */
const GATEWAY_TIMEOUTS: ReadonlySet<number> = new Set([408, 460, 499]);

/** Redirects that ask to repeat the request at another URL. Some servers answer a completed request with 302 or 303. */
const NOT_EXECUTED_REDIRECTS: ReadonlySet<number> = new Set([301, 307, 308]);

/** Returns true for the status of an overloaded or unavailable platform. */
export function isRefusal(status: number): boolean {
  return status === 408 || status === 429 || status >= 500;
}

/** Returns true if a gateway or proxy, not the platform, reports a 404 or denies access. The platform's errors are JSON or empty. */
export function isGatewayResponse(result: AttemptResult): boolean {
  if (result.type !== 'response' || ![403, 404, 410].includes(result.status)) return false;
  const text = result.body
    .toString('utf8')
    .replace(/^\ufeff/, '')
    .trim();
  if (text === '') return false;
  const value = tryParseJson(text);
  // A plain text such as `404` happens to be valid JSON.
  const isPrimitive = typeof value !== 'object' || value === null;
  const isJson = value !== undefined && /json/i.test(single(result.headers['content-type']) ?? '');
  return isPrimitive && !isJson;
}

/**
 * Returns true if the request must be retried. Reads and PUTs are retried after any temporary failure. A POST is retried only if it was
 * certainly not executed; otherwise it could create a second record.
 */
export function isRetried(method: Method, result: AttemptResult, tries: number): boolean {
  if (result.type === 'response' && result.status === 429) return tries < MAX_TRIES_THROTTLED;
  if (tries >= MAX_TRIES) return false;
  if (result.type === 'response') {
    const { status } = result;
    // 501 means not implemented, and 403 is permanent.
    if (status === 501 || status === 403) return false;
    return method !== 'POST' && (isRefusal(status) || isGatewayResponse(result));
  }
  if (result.reason === 'aborted' || result.reason === 'too-large' || isPermanentFailure(result.error)) return false;
  return method !== 'POST' || !result.sent;
}

/** Returns the backoff in milliseconds. It doubles with each attempt. Half of it is random, so that clients do not retry simultaneously. */
export function backoff(attempts: number, random: () => number, { first, max } = BACKOFF): number {
  const full = Math.min(max, first * 2 ** (attempts - 1));
  return full / 2 + (random() * full) / 2;
}

/** Returns the pause in milliseconds that an overloaded server asks for, if any. */
export function pauseOfRefusal(result: AttemptResult, now: number): number | undefined {
  return result.type === 'response' && isRefusal(result.status) ? retryAfter(result.headers, now) : undefined;
}

/** Returns `Retry-After` in milliseconds. The header has seconds or a date. Returns undefined if it is absent, past or invalid. */
export function retryAfter(headers: IncomingHttpHeaders, now: number): number | undefined {
  const text = single(headers['retry-after'])?.trim();
  if (text === undefined || text === '') return undefined;
  if (/^\d+(\.\d+)?$/.test(text)) return positive(Number(text) * 1000);
  const date = Date.parse(text);
  if (Number.isNaN(date) || !/[a-z]/i.test(text)) return undefined;
  // Use the platform's clock if the response has a date, because the local clock may differ.
  const sentAt = Date.parse(single(headers.date) ?? '');
  return positive(date - (Number.isNaN(sentAt) ? now : sentAt));
}

function positive(milliseconds: number): number | undefined {
  return milliseconds > 0 ? milliseconds : undefined;
}

function single(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}

/** Returns true for failures that a retry would repeat: an invalid certificate, a port without TLS, or a proxy that refuses to connect. */
export function isPermanentFailure(error: Error | undefined): boolean {
  const code = errorCode(error);
  return (
    code !== undefined &&
    /^(PROXY_REFUSED$|ERR_TLS|ERR_SSL|EPROTO$|CERT_|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_|HOSTNAME_)/.test(code)
  );
}

/** Returns true if nothing listens at a local address: a retry is pointless. A remote load balancer may be switching servers. */
export function isClosedLocalPort(host: string, result: AttemptResult): boolean {
  return result.type === 'failure' && errorCode(result.error) === 'ECONNREFUSED' && isLoopback(host);
}
