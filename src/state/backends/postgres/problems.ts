import { errorCode, errorMessage } from '../../../problems/error-code.ts';
import { type Advice, advice, UserError } from '../../../problems/user-error.ts';

interface ProblemContext {
  /** The subject of messages, e.g. `the state …`. */
  readonly subject: string;
  /** The name of the setting with the address. */
  readonly setting: string;
  /** The command that prints the SQL for an administrator. */
  readonly setUp: Advice;
  /** The location of the server, for messages. */
  readonly server: string;
  /** True after a successful connection: later connection failures are temporary. */
  readonly wasReached: boolean;
  /** True after a write: a server that is read-only now may be in a failover. */
  readonly wasWritten: boolean;
}

/** The codes for missing tables, or tables of another program. */
const MISSING = new Set(['42P01', '42703', '3F000', '42809']);

/** The codes for a schema that another run created at the same time. */
const CREATED_CONCURRENTLY = new Set(['42P06', '42P07', '23505', '42710']);

export function isMissing(error: unknown): boolean {
  return MISSING.has(codeOf(error));
}

export function isCreatedConcurrently(error: unknown): boolean {
  return CREATED_CONCURRENTLY.has(codeOf(error));
}

/** True for a temporary failure, such as a server that is starting. */
export function isTemporary(error: unknown): boolean {
  const about = { setting: '', setUp: '', wasReached: true, wasWritten: true };
  return error !== undefined && refusalOf(error, about) === undefined;
}

/** Converts a permanent error to a `UserError`, and any other error to an `Error` whose message contains the hint. */
export function problemOf(error: unknown, about: ProblemContext): Error {
  if (error instanceof UserError) return error;
  const refusal = refusalOf(error, about);
  if (refusal !== undefined) {
    const message = `cannot use ${about.subject}: ${refusal.message}`;
    return new UserError(message, { hint: refusal.hint, cause: error });
  }
  const { message, hint } = temporaryProblem(error, about);
  return new Error(hint === undefined ? message : `${message}. ${hint}`, { cause: error });
}

function refusalOf(
  error: unknown,
  { setting, setUp, wasReached, wasWritten }: Omit<ProblemContext, 'subject' | 'server'>,
): { readonly message: string; readonly hint: Advice } | undefined {
  const [code, message] = [codeOf(error), messageOf(error)];
  switch (code) {
    case '28P01':
    case '28000':
      return { message, hint: `Correct the user and the password in ${setting}.` };
    case '3D000':
      return { message, hint: `Create the database, or correct its name in ${setting}.` };
    case '42501':
      return { message, hint: advice`Have an administrator of the database run the output of: ${setUp}.` };
    case '25006':
      if (wasWritten) return undefined;
      return { message: 'the server is read-only', hint: `Point ${setting} to the primary server.` };
    case 'ENOTFOUND':
      if (wasReached) return undefined;
      return { message: 'no such host', hint: `Correct the host in ${setting}.` };
    case 'ECONNREFUSED':
      if (wasReached) return undefined;
      return {
        message: 'connection refused',
        hint: `Start PostgreSQL, or correct the host and the port in ${setting}.`,
      };
  }
  // These errors of `pg` have no code.
  if (message.startsWith('SASL: ')) return { message, hint: `Correct the user and the password in ${setting}.` };
  if (message === 'The server does not support SSL connections') {
    return {
      message: 'the server has no TLS',
      hint: `Enable TLS on the server, or use sslmode=prefer in ${setting}.`,
    };
  }
  if (isCertificate(code)) {
    return {
      message: `the certificate of the server is not trusted: ${message}`,
      hint: `Name the file of its certificate authority in ${setting}: sslrootcert=FILE.`,
    };
  }
  // Errors of these classes are permanent: the server would return the same error again.
  const isPermanent = /^(0A|22|23|42|54)/.test(code) && code.length === 5;
  return isPermanent ? { message: `${message} (${code})`, hint: 'Report this as a bug of voxform.' } : undefined;
}

function temporaryProblem(error: unknown, { server, wasWritten }: ProblemContext): { message: string; hint?: string } {
  const message = messageOf(error);
  switch (codeOf(error)) {
    case '53300':
      return {
        message,
        hint: 'Raise max_connections of the server, or put a pooler such as pgbouncer in front of it',
      };
    case '25006':
      return { message: `${server} has become read-only${wasWritten ? ' during this run' : ''}` };
    case 'ECONNREFUSED':
      return { message: `${server} refused the connection` };
    default:
      return { message };
  }
}

function isCertificate(code: string): boolean {
  return /CERT|UNABLE_TO_VERIFY|ERR_TLS/.test(code);
}

function codeOf(error: unknown): string {
  return errorCode(error) ?? (error instanceof AggregateError ? codeOf(error.errors[0]) : '');
}

/** Returns the message of an error. If a host has several addresses, the error has no message, but contains one error per address. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return messageOf(error.errors[0]);
  return errorMessage(error);
}
