import { type IncomingHttpHeaders, STATUS_CODES } from 'node:http';
import { errorCode } from '../problems/error-code.ts';
import { readErrorBody } from './error-body.ts';
import { type Outcome, PlatformError } from './errors.ts';
import type { AttemptResult } from './exchange.ts';
import { DAMAGED } from './inflate.ts';
import { networkReason, proxyRefusal } from './network-words.ts';
import { oneLine } from './plain-text.ts';
import { ProxyFailure, type ProxySettings } from './proxy.ts';
import { isGatewaysMissing, isNobodyHere, type Method } from './retry.ts';

/** The request that failed, and what is known of all tries at it. */
export interface FailedCall {
  readonly method: Method;
  readonly path: string;
  readonly outcome: Outcome;
  readonly tries: number;
  /** Host and port, for messages. */
  readonly host: string;
  /** What the request goes through. */
  readonly proxy?: ProxySettings | undefined;
  readonly timeoutSeconds: number;
  readonly maxBodyBytes: number;
  redact(text: string): string;
}

/** The error for a last attempt that did not succeed. */
export function failureOf(call: FailedCall, result: AttemptResult): PlatformError {
  if (result.type === 'answer') {
    if (result.status < 400) return redirected(call, result);
    return isGatewaysMissing(result) ? notThePlatform(call, result) : refused(call, result);
  }
  const said = `${wordsFor(call, result)}${afterTries(call)}`;
  return new PlatformError(
    result.reason,
    {
      method: call.method,
      path: call.path,
      outcome: call.outcome,
      status: result.status,
      nobodyHere: isNobodyHere(call.host, result),
      undecodable: errorCode(result.error) === DAMAGED,
    },
    message(call, said),
    causeOf(call, result.error),
  );
}

/** The error for a success whose body is not what the API promises. */
export function malformed(
  call: Pick<FailedCall, 'method' | 'path' | 'outcome'>,
  answer: { readonly status: number; readonly requestId: string | undefined },
  problem: string,
): PlatformError {
  return new PlatformError(
    'malformed',
    { method: call.method, path: call.path, outcome: call.outcome, ...answer },
    message(call, `${answer.status}, but ${problem}${inBrackets([requestWords(answer.requestId)])}`),
  );
}

/** What the platform asked for, and what is waited for at most, both in seconds. */
export interface LongPause {
  readonly status: number;
  readonly seconds: number;
  readonly maxWaitSeconds: number;
}

/** The error for a request that a pause of the platform keeps from being sent. */
export function tooLongAPause(
  call: FailedCall,
  { status, seconds, maxWaitSeconds }: LongPause,
): PlatformError {
  const why = status === 429 ? 'limits the request rate and' : `is not ready (${status}) and`;
  return new PlatformError(
    'status',
    { method: call.method, path: call.path, outcome: call.outcome, status },
    message(
      call,
      `the platform ${why} asks for another pause of ${Math.ceil(seconds)} s; the limit for all pauses is ${maxWaitSeconds} s`,
    ),
  );
}

export function aborted(call: FailedCall): PlatformError {
  return new PlatformError(
    'aborted',
    { method: call.method, path: call.path, outcome: call.outcome },
    message(call, 'stopped'),
  );
}

/** The error for a request that nobody wants sent any more, and that was not carried out. */
export function heldBack(call: FailedCall): PlatformError {
  const { method, path, outcome } = call;
  return new PlatformError('held-back', { method, path, outcome }, message(call, 'not sent'));
}

/** Id that the platform or something before it gave the request. */
export function requestIdOf(
  headers: IncomingHttpHeaders,
  redact: (text: string) => string,
): string | undefined {
  for (const name of ['x-request-id', 'request-id', 'x-correlation-id', 'x-amzn-requestid', 'cf-ray']) {
    const value = headers[name];
    const id = oneLine(Array.isArray(value) ? (value[0] ?? '') : (value ?? ''), 100, redact);
    if (id !== '') return id;
  }
  return undefined;
}

function refused(call: FailedCall, result: AttemptResult & { type: 'answer' }): PlatformError {
  const { status } = result;
  const { code, detail, field } = readErrorBody(result.body, call.redact);
  const requestId = requestIdOf(result.headers, call.redact);
  const words = [
    status === 407 && call.proxy ? proxyRefusal(call.proxy, { status, target: call.host }) : keyWords(status),
    detail ?? (keyWords(status) === undefined ? STATUS_CODES[status] : undefined),
  ];
  const said = words.filter((word) => word !== undefined).join(': ');
  return new PlatformError(
    'status',
    { method: call.method, path: call.path, outcome: call.outcome, status, code, detail, field, requestId },
    message(
      call,
      `${status}${said === '' ? '' : ` ${said}`}${inBrackets([
        code === undefined ? undefined : `code ${code}`,
        requestWords(requestId),
        call.tries > 1 ? `after ${call.tries} tries` : undefined,
      ])}`,
    ),
  );
}

function notThePlatform(call: FailedCall, result: AttemptResult & { type: 'answer' }): PlatformError {
  const { status } = result;
  const { detail } = readErrorBody(result.body, call.redact);
  const requestId = requestIdOf(result.headers, call.redact);
  const said = detail === undefined ? '' : `: ${detail}`;
  const notes = [requestWords(requestId), call.tries > 1 ? `after ${call.tries} tries` : undefined];
  return new PlatformError(
    'gateway',
    { method: call.method, path: call.path, outcome: call.outcome, status, detail, requestId },
    message(call, `${status} from a gateway or another server, not the platform${said}${inBrackets(notes)}`),
  );
}

function redirected(call: FailedCall, result: AttemptResult & { type: 'answer' }): PlatformError {
  const requestId = requestIdOf(result.headers, call.redact);
  const target = originOf(result.headers.location, call);
  return new PlatformError(
    'redirect',
    { method: call.method, path: call.path, outcome: call.outcome, status: result.status, requestId },
    message(call, `${result.status} redirect${target}, not followed`),
  );
}

function originOf(location: string | undefined, call: FailedCall): string {
  // Before it is taken apart, which also turns the host into small letters.
  const target = call.redact(location ?? '');
  if (!/^https?:\/\//i.test(target) || !URL.canParse(target)) return '';
  return ` (${oneLine(new URL(target).origin, 200, call.redact)})`;
}

function keyWords(status: number): string | undefined {
  if (status === 401) {
    return 'the API key was rejected';
  }
  if (status === 403) {
    return 'the API key lacks permission';
  }
  return undefined;
}

function wordsFor(call: FailedCall, result: AttemptResult & { type: 'failure' }): string {
  switch (result.reason) {
    case 'aborted':
      return 'stopped';
    case 'timeout':
      return result.sent
        ? `no complete response within ${call.timeoutSeconds} s`
        : `no connection to ${hostWords(call)} within ${call.timeoutSeconds} s`;
    case 'too-large':
      return `the response is larger than ${call.maxBodyBytes} bytes`;
    case 'network':
      return networkWords(call, result.error);
    default:
      return result.reason satisfies never;
  }
}

function hostWords({ host, proxy }: FailedCall): string {
  return proxy === undefined ? host : `${host} (through the proxy ${proxy.shown})`;
}

function networkWords(call: FailedCall, error: Error | undefined): string {
  if (error instanceof ProxyFailure) return oneLine(error.message, 300, call.redact);
  const code = errorCode(error);
  const known = networkReason(code);
  if (known !== undefined) return `${hostWords(call)} ${known}`;
  const own = oneLine(error?.message ?? '', 200, call.redact);
  return `no response from ${hostWords(call)}${own === '' ? '' : `: ${own}`}${code === undefined ? '' : ` (${code})`}`;
}

/** What undici or the system said, without the bytes of the answer and the socket that its errors may carry. */
function causeOf(call: FailedCall, error: Error | undefined): Error | undefined {
  if (error === undefined) return undefined;
  return Object.assign(new Error(oneLine(error.message, 200, call.redact)), { code: errorCode(error) });
}

function message(call: Pick<FailedCall, 'method' | 'path' | 'outcome'>, said: string): string {
  const unknown = call.outcome === 'lost' ? '; it may have succeeded' : '';
  return `${call.method} ${call.path}: ${said}${unknown}`;
}

function afterTries({ tries }: FailedCall): string {
  return tries > 1 ? ` (after ${tries} tries)` : '';
}

function requestWords(requestId: string | undefined): string | undefined {
  return requestId === undefined ? undefined : `request id ${requestId}`;
}

function inBrackets(notes: readonly (string | undefined)[]): string {
  const present = notes.filter((note) => note !== undefined);
  return present.length === 0 ? '' : ` (${present.join(', ')})`;
}
