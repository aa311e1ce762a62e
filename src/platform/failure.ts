import type { IncomingHttpHeaders } from 'node:http';
import { errorCode } from '../problems/error-code.ts';
import { readErrorBody } from './error-body.ts';
import type { AttemptResult } from './exchange.ts';
import { DAMAGED_ENCODING } from './inflate.ts';
import { nameOfStatus, networkReason, proxyRefusal } from './network-reason.ts';
import { oneLine } from './plain-text.ts';
import { type ExchangeFacts, PlatformError, type PlatformErrorReason, type RequestOutcome } from './platform-error.ts';
import { ProxyFailure, type ProxySettings } from './proxy.ts';
import { knownField } from './records/request-fields.ts';
import { isClosedLocalPort, isGatewayResponse, type Method } from './retry.ts';

/** The server of a request, for messages. */
interface Peer {
  /** Host and port. */
  readonly host: string;
  readonly proxy?: ProxySettings | undefined;
  readonly timeoutSeconds: number;
  readonly maxBodyBytes: number;
  redact(text: string): string;
}

/** A failed request, with the outcome of all its attempts. */
export interface FailedCall extends Peer {
  readonly method: Method;
  readonly path: string;
  readonly outcome: RequestOutcome;
  readonly tries: number;
  /** The maximum total time of all pauses. */
  readonly maxWaitSeconds: number;
}

export function failureOf(call: FailedCall, result: AttemptResult): PlatformError {
  if (result.type === 'response') return errorResponse(call, result);
  const facts = {
    status: result.status,
    closedLocalPort: isClosedLocalPort(call.host, result) ? call.host : undefined,
    undecodable: errorCode(result.error) === DAMAGED_ENCODING,
    atProxy: result.error instanceof ProxyFailure,
  };
  const message = `${failureWords(call, result)}${inParentheses([afterTries(call)])}`;
  return errorOf(call, result.reason, { facts, message, cause: causeOf(call, result.error) });
}

/** Returns the error for a successful response whose body does not match the API. */
export function malformed(
  call: RequestOf,
  response: { readonly status: number; readonly requestId: string | undefined },
  problem: string,
): PlatformError {
  const message = `${response.status}, but ${problem}${inParentheses([requestWords(response.requestId)])}`;
  return errorOf(call, 'malformed', { facts: response, message });
}

/** Returns the error for a request that is not sent because the platform asks, with this status, for a pause that is too long. */
export function pauseTooLongError(call: FailedCall, milliseconds: number, status: number): PlatformError {
  const reason = status === 429 ? 'limits the request rate and' : `is not ready (${status}) and`;
  const message = `the platform ${reason} asks for another pause of ${Math.ceil(milliseconds / 1000)} s; the limit for all pauses is ${call.maxWaitSeconds} s`;
  return errorOf(call, 'status', { facts: { status }, message });
}

export function aborted(call: FailedCall): PlatformError {
  return errorOf(call, 'aborted', { message: 'stopped' });
}

export function notSentError(call: FailedCall, cause?: unknown): PlatformError {
  return errorOf(call, 'held-back', { message: 'not sent', cause: cause instanceof Error ? cause : undefined });
}

type RequestOf = Pick<FailedCall, 'method' | 'path' | 'outcome'>;

interface FailureDetails {
  readonly facts?: Omit<ExchangeFacts, keyof RequestOf> | undefined;
  readonly message: string;
  readonly cause?: Error | undefined;
}

function errorOf(
  { method, path, outcome }: RequestOf,
  reason: PlatformErrorReason,
  { facts, message, cause }: FailureDetails,
): PlatformError {
  const unknown = outcome === 'lost' ? '; it may have succeeded' : '';
  const text = `${method} ${path}: ${message}${unknown}`;
  return new PlatformError(reason, { method, path, outcome, ...facts }, text, cause);
}

/** Returns the request id that the platform or a gateway assigned. */
export function requestIdOf(headers: IncomingHttpHeaders, redact: (text: string) => string): string | undefined {
  for (const name of ['x-request-id', 'request-id', 'x-correlation-id', 'x-amzn-requestid', 'cf-ray']) {
    const value = headers[name];
    const id = oneLine(Array.isArray(value) ? (value[0] ?? '') : (value ?? ''), 100, redact);
    if (id !== '') return id;
  }
  return undefined;
}

function errorResponse(call: FailedCall, result: AttemptResult & { type: 'response' }): PlatformError {
  const { status, headers } = result;
  const requestId = requestIdOf(headers, call.redact);
  if (status < 400) {
    const message = `${status} redirect${originOf(headers.location, call)}, not followed`;
    return errorOf(call, 'redirect', { facts: { status, requestId }, message });
  }
  const { code, detail, field } = readErrorBody(result.body, call.redact);
  const notes = [requestWords(requestId), afterTries(call)];
  if (isGatewayResponse(result)) {
    const quoted = detail === undefined ? '' : `: ${detail}`;
    const message = `${status} from a gateway or another server, not the platform${quoted}${inParentheses(notes)}`;
    return errorOf(call, 'gateway', { facts: { status, detail, requestId }, message });
  }
  const known =
    status === 407 && call.proxy ? proxyRefusal(call.proxy, { status, target: call.host }) : KEY_WORDS[status];
  const words = [known, detail ?? (KEY_WORDS[status] === undefined ? nameOfStatus(status) : undefined)]
    .filter((word) => word !== undefined)
    .join(': ');
  const message = `${status}${words === '' ? '' : ` ${words}`}${inParentheses([code && `code ${code}`, ...notes])}`;
  return errorOf(call, 'status', {
    facts: { status, code, detail, field, knownField: field && knownField(field), requestId },
    message,
  });
}

const KEY_WORDS: Readonly<Record<number, string>> = {
  401: 'the API key was rejected',
  403: 'the API key lacks permission',
};

function originOf(location: string | undefined, call: FailedCall): string {
  // Redact before parsing, because parsing converts the host to lower case.
  const target = call.redact(location ?? '');
  if (!/^https?:\/\//i.test(target) || !URL.canParse(target)) return '';
  return ` (${oneLine(new URL(target).origin, 200, call.redact)})`;
}

/** Describes a failed attempt, as a phrase that names the server. */
export function failureWords(peer: Peer, result: AttemptResult & { type: 'failure' }): string {
  switch (result.reason) {
    case 'aborted':
      return 'stopped';
    case 'timeout':
      return result.sent
        ? `no complete response from ${hostWords(peer)} within ${peer.timeoutSeconds} s`
        : `no connection to ${hostWords(peer)} within ${peer.timeoutSeconds} s`;
    case 'too-large':
      return `the response is larger than ${peer.maxBodyBytes} bytes`;
    case 'network':
      return networkWords(peer, result.error);
    default:
      return result.reason satisfies never;
  }
}

function hostWords({ host, proxy }: Peer): string {
  return proxy === undefined ? host : `${host} (through the proxy ${proxy.shown})`;
}

function networkWords(peer: Peer, error: Error | undefined): string {
  if (error instanceof ProxyFailure) return oneLine(error.message, 300, peer.redact);
  const code = errorCode(error);
  const known = networkReason(code);
  if (known !== undefined) return `${hostWords(peer)} ${known}`;
  const own = oneLine(error?.message ?? '', 200, peer.redact);
  return `no response from ${hostWords(peer)}${own === '' ? '' : `: ${own}`}${code === undefined ? '' : ` (${code})`}`;
}

/** Copies the message and the code of an error. The original may hold a reference to the response or the socket. */
function causeOf(call: FailedCall, error: Error | undefined): Error | undefined {
  if (error === undefined) return undefined;
  return Object.assign(new Error(oneLine(error.message, 200, call.redact)), { code: errorCode(error) });
}

function afterTries({ tries }: FailedCall): string | undefined {
  return tries > 1 ? `after ${tries} tries` : undefined;
}

function requestWords(requestId: string | undefined): string | undefined {
  return requestId === undefined ? undefined : `request id ${requestId}`;
}

function inParentheses(notes: readonly (string | undefined)[]): string {
  const present = notes.filter((note) => note !== undefined);
  return present.length === 0 ? '' : ` (${present.join(', ')})`;
}
