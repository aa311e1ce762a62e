import { errorMessage } from '../problems/error-code.ts';

/** `not-done`: the request was certainly not executed: never sent, or refused. `lost`: it may have been executed. */
export type RequestOutcome = 'not-done' | 'lost';

export interface ExchangeFacts {
  readonly method: string;
  /** Path and query, without headers and body. */
  readonly path: string;
  readonly outcome: RequestOutcome;
  readonly status?: number | undefined;
  /** The platform's error code, if the body has one. */
  readonly code?: string | undefined;
  /** The platform's message, truncated and redacted. */
  readonly detail?: string | undefined;
  /** The request field that the platform rejects, if the body names one. */
  readonly field?: string | undefined;
  /** The part of `field` that consists of known request fields. */
  readonly knownField?: string | undefined;
  readonly requestId?: string | undefined;
  /** The local host and port, if nothing listens there. */
  readonly closedLocalPort?: string | undefined;
  /** True if the response could not be decompressed. */
  readonly undecodable?: boolean | undefined;
  /** The number of readable calls of a list whose cursor the platform ignores. */
  readonly firstCalls?: number | undefined;
  /** True if a proxy did not connect to the platform. */
  readonly atProxy?: boolean | undefined;
}

/** Returns an error message for the run history. Omits the platform's text, even if another error quotes that text. */
export function recordedMessage(error: unknown): string {
  if (error instanceof PlatformError) return error.recorded;
  const message = errorMessage(error);
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof PlatformError ? message.replace(cause.message, () => cause.recorded) : message;
}

/** A failed request to the platform. Branch on `status`, `outcome` and `reason`, never on the message. */
export class PlatformError extends Error {
  override readonly name = 'PlatformError';
  readonly reason: PlatformErrorReason;
  readonly facts: ExchangeFacts;

  constructor(reason: PlatformErrorReason, facts: ExchangeFacts, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.reason = reason;
    this.facts = facts;
  }

  /** Returns the same error with a note at the end of its message. */
  withNote(note: string): PlatformError {
    return new PlatformError(this.reason, this.facts, `${this.message}; ${note}`, this.cause);
  }

  /** The message for storage. It omits the platform's text, which may repeat values of the request. */
  get recorded(): string {
    const { method, path, status, code, detail, knownField: field, requestId, outcome } = this.facts;
    if (detail === undefined && this.reason !== 'malformed') return this.message;
    const notes = [
      this.reason === 'status' ? undefined : this.reason,
      code && `code ${code}`,
      field && `field ${field}`,
      requestId && `request id ${requestId}`,
    ].filter((note) => note !== undefined);
    const text = notes.length === 0 ? status : `${status} (${notes.join(', ')})`;
    return `${method} ${path}: ${text}${outcome === 'lost' ? '; it may have succeeded' : ''}`;
  }

  get status(): number | undefined {
    return this.facts.status;
  }

  get outcome(): RequestOutcome {
    return this.facts.outcome;
  }

  /** True if the platform itself reports that nothing exists at this path. A 404 or 410 of a gateway does not count. */
  get isMissing(): boolean {
    if (this.reason === 'empty') return true;
    return this.reason === 'status' && (this.status === 404 || this.status === 410);
  }

  /** True if the platform itself denies the key access. */
  get isForbidden(): boolean {
    return this.reason === 'status' && this.status === 403;
  }
}

export type PlatformErrorReason =
  /** A response with a status other than 2xx. */
  | 'status'
  /** A 403, 404 or 410 from a server other than the platform, such as a gateway, a load balancer or a website. */
  | 'gateway'
  /** No connection, or the connection broke. */
  | 'network'
  | 'timeout'
  | 'aborted'
  /** The request was not sent because the run was stopped or lost the permission to write. */
  | 'held-back'
  /** A response that does not match the API document: not JSON, no `data`, a record without id. */
  | 'malformed'
  /** A success whose `data` is null, from a path that may have no record. */
  | 'empty'
  /** A response above the size limit. */
  | 'too-large'
  /** A redirect, which is not followed because it would send the API key to another server. */
  | 'redirect'
  /** A list whose cursor repeats. */
  | 'cursor-loop';
