import { errorMessage } from '../problems/error-code.ts';

/**
 * What is known of a request that did not succeed. `not-done`: the platform certainly did not carry it out (it was never
 * sent, or was answered with a refusal). `lost`: it may have been carried out; nobody knows.
 */
export type RequestOutcome = 'not-done' | 'lost';

export interface ExchangeFacts {
  readonly method: string;
  /** Path with its query, never a header or a body. */
  readonly path: string;
  readonly outcome: RequestOutcome;
  readonly status?: number | undefined;
  /** The platform's own code for the problem, where the body has one. */
  readonly code?: string | undefined;
  /** The platform's own words, shortened and with secrets removed. */
  readonly detail?: string | undefined;
  /** The field of the request that the platform objects to, where the body names one. */
  readonly field?: string | undefined;
  /** As much of it as consists of fields of requests. */
  readonly knownField?: string | undefined;
  readonly requestId?: string | undefined;
  /** Host and port of this machine where nothing listens. */
  readonly nobodyAt?: string | undefined;
  /** True where an answer came whose compression could not be undone. */
  readonly undecodable?: boolean | undefined;
  /** How many calls can be read of a list whose cursor the platform ignores. */
  readonly firstCalls?: number | undefined;
  /** True where a proxy did not connect to the platform. */
  readonly atProxy?: boolean | undefined;
}

/** The message of an error for a history: without the text of an answer, also where another error quotes it. */
export function recordedMessage(error: unknown): string {
  if (error instanceof PlatformError) return error.recorded;
  const message = errorMessage(error);
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof PlatformError ? message.replace(cause.message, () => cause.recorded) : message;
}

/** A request to the platform that did not succeed. Branch on `status`, `outcome` and `reason`, never on the message. */
export class PlatformError extends Error {
  override readonly name = 'PlatformError';
  readonly reason: PlatformErrorReason;
  readonly facts: ExchangeFacts;

  constructor(reason: PlatformErrorReason, facts: ExchangeFacts, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.reason = reason;
    this.facts = facts;
  }

  /** The same error, saying one thing more at its end. */
  withNote(note: string): PlatformError {
    return new PlatformError(this.reason, this.facts, `${this.message}; ${note}`, this.cause);
  }

  /** The message for what is kept: without the text of the answer, which may repeat values of the request. */
  get recorded(): string {
    const { method, path, status, code, detail, knownField: field, requestId, outcome } = this.facts;
    if (detail === undefined && this.reason !== 'malformed') return this.message;
    const notes = [
      this.reason === 'status' ? undefined : this.reason,
      code && `code ${code}`,
      field && `field ${field}`,
      requestId && `request id ${requestId}`,
    ].filter((note) => note !== undefined);
    const said = notes.length === 0 ? status : `${status} (${notes.join(', ')})`;
    return `${method} ${path}: ${said}${outcome === 'lost' ? '; it may have succeeded' : ''}`;
  }

  get status(): number | undefined {
    return this.facts.status;
  }

  get outcome(): RequestOutcome {
    return this.facts.outcome;
  }

  /** True where the platform itself says that it has nothing at this path; a gateway's 404 or 410 says nothing of it. */
  get saysMissing(): boolean {
    if (this.reason === 'empty') return true;
    return this.reason === 'status' && (this.status === 404 || this.status === 410);
  }

  /** True where the platform itself says that the key may not do this. */
  get saysForbidden(): boolean {
    return this.reason === 'status' && this.status === 403;
  }
}

export type PlatformErrorReason =
  /** An answer with a status other than 2xx. */
  | 'status'
  /** A 403, 404 or 410 of another server than the platform: a gateway, a load balancer, a web site. */
  | 'gateway'
  /** No connection, or the connection broke. */
  | 'network'
  | 'timeout'
  | 'aborted'
  /** Not sent, because nothing new was to be begun by the time that it could have been. */
  | 'held-back'
  /** An answer that is not what the API document promises: not JSON, no `data`, a record without id. */
  | 'malformed'
  /** A success whose `data` is null, from a path that may have nothing. */
  | 'empty'
  /** An answer larger than the cap. */
  | 'too-large'
  /** A redirect, which is not followed because it would carry the key elsewhere. */
  | 'redirect'
  /** A list whose cursor repeats. */
  | 'cursor-loop';
