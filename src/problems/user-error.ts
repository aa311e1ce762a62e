import type { NextStep } from './next-step.ts';
import { commandFor, type WorkspaceSelection, type workspaceCommands } from './workspace-command.ts';

/** A problem that the user can fix. It is printed with its hint and without a stack trace. */
export class UserError extends Error {
  override readonly name: string = 'UserError';
  readonly hint: string | undefined;
  /** The hint, with its commands as data. */
  readonly advice: Advice | undefined;
  /** The next steps as data. They are printed after the hint. */
  readonly next: readonly NextStep[];
  readonly exitCode: number;

  constructor(message: string, options: UserErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.hint = options.hint && adviceText(options.hint);
    this.advice = options.hint;
    this.next = options.next ?? [];
    this.exitCode = options.exitCode ?? ExitCode.error;
  }
}

export interface UserErrorOptions {
  readonly hint?: Advice;
  readonly next?: readonly NextStep[];
  readonly exitCode?: number;
  readonly cause?: unknown;
}

export const ExitCode = {
  ok: 0,
  error: 1,
  changes: 2,
  usage: 64,
  interrupted: 130,
  terminated: 143,
} as const;

/** Returns the error for an invalid command line. */
export function usageError(message: string, hint?: Advice): UserError {
  return new UserError(message, { ...(hint !== undefined && { hint }), exitCode: ExitCode.usage });
}

/** The text of a hint. A hint with commands of a workspace is a list of strings and commands, which are written without `voxform`. */
export type Advice = string | readonly (string | { readonly command: string })[];

export function command(line: `${(typeof workspaceCommands)[number]}${string}`): Advice {
  return [{ command: line }];
}

/** A template tag that builds advice. The interpolated values are advice too. */
export function advice(texts: TemplateStringsArray, ...values: readonly Advice[]): Advice {
  return texts.flatMap((text, index) => [text, values[index] ?? ''].flat());
}

/** Returns the advice as text. Its commands select the given workspace. */
export function adviceText(given: Advice, selection?: WorkspaceSelection): string {
  const parts = [given].flat();
  return parts
    .map((each) => (typeof each === 'string' ? each : commandFor(`voxform ${each.command}`, selection)))
    .join('');
}
