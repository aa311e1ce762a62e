import type { NextStep } from './next-step.ts';

/** A problem a person can mend: one message, and the way out. Shown without a stack. */
export class UserError extends Error {
  override readonly name: string = 'UserError';
  readonly hint: string | undefined;
  /** What helps, as data; shown after the hint. */
  readonly next: readonly NextStep[];
  readonly exitCode: number;

  constructor(message: string, options: UserErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.hint = options.hint;
    this.next = options.next ?? [];
    this.exitCode = options.exitCode ?? ExitCode.error;
  }
}

export interface UserErrorOptions {
  readonly hint?: string;
  readonly next?: readonly NextStep[];
  readonly exitCode?: number;
  readonly cause?: unknown;
}

/** The process exit codes, the same for every command. */
export const ExitCode = {
  ok: 0,
  error: 1,
  changes: 2,
  usage: 64,
  interrupted: 130,
  terminated: 143,
} as const;

/** The error for a command line that cannot be meant so. */
export function misuse(message: string, hint?: string): UserError {
  return new UserError(message, { ...(hint !== undefined && { hint }), exitCode: ExitCode.usage });
}
