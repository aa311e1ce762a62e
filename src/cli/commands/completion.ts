import { Argument, type Command, Option } from 'commander';
import type { CompletionOptions } from '../actions/completion.ts';
import { SHELLS, type Shell } from '../completion/answer.ts';
import type { Start } from '../context.ts';

export function defineCompletion(program: Command, start: Start): void {
  program
    .command('completion')
    .summary('print what a shell needs to complete commands')
    .description(
      'Prints a script that makes a shell complete commands, flags and their values, addresses, workspaces and files. Completing reads the files of the project and asks nothing of the platform.',
    )
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .addOption(new Option('--complete <word...>', 'answer the script').hideHelp())
    .action((shell: Shell, options: CompletionOptions) =>
      start(
        async (context) =>
          (await import('../actions/completion.ts')).completion(context, { shell, program }, options),
        { withoutProject: true },
      ),
    );
}
