import path from 'node:path';
import type { Command } from 'commander';
import { isInside } from '../manifests/read-file.ts';
import { misuse } from '../problems/user-error.ts';
import type { Waiver } from '../runs/run-context.ts';
import type { Context } from './context.ts';
import { collectItems, collectText } from './flags.ts';

export interface PolicyFlags {
  readonly policy?: readonly string[];
}

export interface WaiverFlags {
  readonly waive?: readonly string[];
  readonly because?: string;
}

export function withPolicies(command: Command): Command {
  return command.option(
    '--policy <file>',
    'Also apply the policies in this file, beside those of the project (repeatable)',
    collectText,
  );
}

export function withWaiver(command: Command): Command {
  return withPolicies(command)
    .option('--waive <rule>', 'Lift a policy for what it denies in this plan (repeatable)', collectItems)
    .option('--because <text>', 'Why, for the history; required with --waive');
}

/** Adds the policy files of the command line to the context. */
export function withPolicyFiles<C extends Context>(context: C, { policy = [] }: PolicyFlags): C {
  if (policy.length === 0) return context;
  const { cwd, calledIn, projectFolder = cwd } = context;
  // Relative to the caller, not to `-C`: the repository must not choose its own rules.
  const paths = new Set(policy.map((name) => path.resolve(calledIn, name)));
  const files = [...paths].map((absolute) => {
    // In the form of diagnostics: relative to the project.
    const file = isInside(absolute, projectFolder) ? path.relative(projectFolder, absolute) : absolute;
    return { path: absolute, file: file.replaceAll(path.sep, '/') };
  });
  return { ...context, policies: { ...context.policies, files } };
}

/** @throws UserError if one of two flags is missing. */
export function waiverOf({ waive = [], because }: WaiverFlags): Waiver | undefined {
  if (waive.length > 0 && (because ?? '').trim() === '') {
    throw misuse('--waive needs --because TEXT', 'The reason is kept in the history.');
  }
  if (waive.length === 0 && because !== undefined) throw misuse('--because needs --waive RULE');
  return waive.length === 0 ? undefined : { rules: [...new Set(waive)], because: because ?? '' };
}
