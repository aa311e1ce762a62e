import { PlatformError } from '../platform/platform-error.ts';
import type { Diagnostic } from '../problems/diagnostic.ts';
import { UserError } from '../problems/user-error.ts';
import type { Reach } from '../problems/workspace-command.ts';
import type { ErrorDocument } from './error-json-schema.ts';
import { helpText } from './next-steps.ts';
import { platformHint } from './platform-hints.ts';
import { plural } from './plural.ts';

export interface ErrorContext {
  readonly exitCode: number;
  readonly reach?: Reach;
  /** Strikes secrets out. */
  redact(text: string): string;
}

/** An error for a program. No stack: that is on stderr. */
export function errorJson(error: unknown, { exitCode, reach, redact }: ErrorContext): ErrorDocument {
  const diagnostics = diagnosticsOf(error) ?? [];
  const hint = hintOf(error, reach, undefined);
  return {
    error: {
      message: redact(diagnostics.length > 0 ? countOf(diagnostics) : messageOf(error)),
      ...(hint !== undefined && { hint: redact(hint) }),
      exit_code: exitCode,
      // What an editor may do about it is no part of the document.
      diagnostics: diagnostics.map(({ fix: _, ...each }) => ({ ...each, message: redact(each.message) })),
      ...(error instanceof PlatformError && { request: requestOf(error) }),
    },
  };
}

/** What is wrong in manifests and project file, where the error is about that. */
export function diagnosticsOf(error: unknown): readonly Diagnostic[] | undefined {
  return error instanceof Error && 'diagnostics' in error && Array.isArray(error.diagnostics)
    ? error.diagnostics
    : undefined;
}

function countOf(diagnostics: readonly Diagnostic[]): string {
  const errors = diagnostics.filter(({ severity }) => severity === 'error').length;
  return `${plural(errors, 'error')} in the project`;
}

function messageOf(error: unknown): string {
  if (error instanceof UserError || error instanceof PlatformError) return error.message;
  return `this is a bug in voxform: ${error instanceof Error ? `${error.name}: ${error.message}` : error}`;
}

/** What may help, for people; `baseUrl` is where the platform was looked for. */
export function hintOf(error: unknown, reach: Reach, baseUrl: string | undefined): string | undefined {
  if (error instanceof PlatformError) return platformHint(error, baseUrl);
  return error instanceof UserError ? helpText(error, reach) : undefined;
}

function requestOf({ reason, facts }: PlatformError): NonNullable<ErrorDocument['error']['request']> {
  const { method, path, outcome, status, code, requestId } = facts;
  return {
    method,
    path,
    reason,
    ...(status !== undefined && { status }),
    ...(code !== undefined && { code }),
    ...(requestId !== undefined && { request_id: requestId }),
    outcome,
  };
}
