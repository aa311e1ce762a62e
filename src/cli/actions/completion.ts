import path from 'node:path';
import type { Command } from 'commander';
import { packageText } from '../../version.ts';
import { complete, completionLines, restoreWords, type Shell } from '../completion/complete.ts';
import type { CompletionCursor } from '../completion/cursor.ts';
import { projectSources } from '../completion/project-sources.ts';
import type { Context } from '../context.ts';
import { inProject } from '../project-context.ts';

interface CompletionOptions {
  readonly shell: Shell;
  /** The words of a command line, each with a leading =. The last word is incomplete. */
  readonly complete?: readonly string[];
}

/**
 * Creates the action that prints the script of a shell or, with `--complete`, the candidates. If the candidates cannot be determined, it
 * prints nothing.
 * @param program the root command.
 */
export function completionOf(program: Command) {
  return async (context: Context, { shell, complete: words }: CompletionOptions): Promise<void> => {
    const lines = words && (await candidateLines(context, program, { shell, words }).catch(() => ''));
    context.terminal.out(lines ?? packageText(`completions/voxform.${shell}`));
  };
}

async function candidateLines(
  context: Context,
  program: Command,
  { shell, words }: { readonly shell: Shell; readonly words: readonly string[] },
): Promise<string> {
  const cwdOf = ({ flags }: CompletionCursor) => path.resolve(context.cwd, flags.get('--chdir') ?? '.');
  const log = { warn() {}, info() {}, debug() {} };
  const completed = await complete(program, restoreWords(shell, words), (cursor) => {
    const { flags } = cursor;
    const lookup = { isNamed: flags.has('--chdir'), usesEnvFile: false, isSilent: true };
    const found = inProject({ ...context, cwd: cwdOf(cursor) }, lookup);
    return projectSources({ ...found, log, workspace: flags.get('--workspace') });
  });
  return completionLines(shell, completed, cwdOf(completed.cursor));
}
