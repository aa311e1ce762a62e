import path from 'node:path';
import type { Command } from 'commander';
import { ExitCode } from '../../problems/user-error.ts';
import { complete } from '../completion/candidates.ts';
import { answerFor, type Shell, wordsFrom } from '../completion/completion-answer.ts';
import type { CompletionCursor } from '../completion/cursor.ts';
import { projectSources } from '../completion/project-sources.ts';
import { scripts } from '../completion/scripts.ts';
import type { Context } from '../context.ts';
import { inProject } from '../project-context.ts';

export interface CompletionOptions {
  /** The words of a command line, each with an = before it; the last one is being typed. */
  readonly complete?: readonly string[];
}

interface CompletionRequest {
  readonly shell: Shell;
  /** The whole command line. */
  readonly program: Command;
}

/** Prints the script of a shell; or with `--complete` what can follow, and nothing at all where something is wrong. */
export async function completion(
  context: Context,
  { shell, program }: CompletionRequest,
  { complete: given }: CompletionOptions,
): Promise<number> {
  if (given === undefined) {
    context.terminal.out(scripts[shell]);
    return ExitCode.ok;
  }
  const answer = await answerTo(context, { shell, program }, wordsFrom(shell, given)).catch(() => '');
  context.terminal.out(answer);
  return ExitCode.ok;
}

async function answerTo(
  context: Context,
  { shell, program }: CompletionRequest,
  words: readonly string[],
): Promise<string> {
  const cwdOf = ({ flags }: CompletionCursor) => path.resolve(context.cwd, flags.get('--chdir') ?? '.');
  const silent = { warn() {}, info() {}, debug() {} };
  const completed = await complete(program, words, (cursor) => {
    const here = { ...context, cwd: cwdOf(cursor) };
    const around = { isNamed: cursor.flags.has('--chdir'), usesEnvFile: false, isSilent: true };
    return projectSources({
      ...inProject(here, around),
      log: silent,
      workspace: cursor.flags.get('--workspace'),
    });
  });
  return answerFor(shell, completed, cwdOf(completed.cursor));
}
