import { Argument, type Command, Option } from 'commander';
import type { CompletionOptions } from '../actions/completion.ts';
import { SHELLS, type Shell } from '../completion/completion-answer.ts';
import type { Start } from '../context.ts';

export function defineCompletion(program: Command, start: Start): void {
  program
    .command('completion')
    .summary('Print a shell completion script')
    .description(
      'Print a script that completes commands, flags, values, addresses, workspaces and files. Completion reads project files only; it sends no requests.',
    )
    .addArgument(new Argument('<shell>', 'Shell to complete in').choices(SHELLS))
    .addOption(new Option('--complete <word...>', 'answer the script').hideHelp())
    .action((shell: Shell, options: CompletionOptions) =>
      start(
        async (context) =>
          (await import('../actions/completion.ts')).completion(context, { shell, program }, options),
        { withoutProject: true },
      ),
    );
}
