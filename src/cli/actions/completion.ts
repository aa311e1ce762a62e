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
  /** The words of a command line, each with a leading =. The last one is incomplete. */
  readonly complete?: readonly string[];
}

/**
 * Prints the script of a shell, or with `--complete` the candidates; nothing after any error.
 * @param program the whole command line.
 */
export function completionOf(program: Command) {
  return async (context: Context, { shell, complete: given }: CompletionOptions): Promise<void> => {
    const answer = given && (await answerTo(context, program, { shell, given }).catch(() => ''));
    context.terminal.out(answer ?? packageText(`completions/voxform.${shell}`));
  };
}

async function answerTo(
  context: Context,
  program: Command,
  { shell, given }: { readonly shell: Shell; readonly given: readonly string[] },
): Promise<string> {
  const cwdOf = ({ flags }: CompletionCursor) => path.resolve(context.cwd, flags.get('--chdir') ?? '.');
  const log = { warn() {}, info() {}, debug() {} };
  const completed = await complete(program, restoreWords(shell, given), (cursor) => {
    const { flags } = cursor;
    const lookup = { isNamed: flags.has('--chdir'), usesEnvFile: false, isSilent: true };
    const found = inProject({ ...context, cwd: cwdOf(cursor) }, lookup);
    return projectSources({ ...found, log, workspace: flags.get('--workspace') });
  });
  return completionLines(shell, completed, cwdOf(completed.cursor));
}
