/** A problem a person can mend: one message, and the way out. Shown without a stack. */
export class UserError extends Error {
  override readonly name: string = 'UserError';
  readonly hint: string | undefined;
  readonly exitCode: number;

  constructor(message: string, options: { hint?: string; exitCode?: number; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.hint = options.hint;
    this.exitCode = options.exitCode ?? ExitCode.error;
  }
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
