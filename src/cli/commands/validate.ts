import type { Command } from 'commander';
import type { ValidateOptions } from '../actions/validate.ts';
import type { Start } from '../context.ts';
import { outputOption, withWorkspaces } from '../flags.ts';

export function defineValidate(program: Command, start: Start): void {
  withWorkspaces(program.command('validate'))
    .summary('Check the manifests offline')
    .description(
      'Check the project file and all manifests, and report every problem at once. Needs no API key and no network.',
    )
    .addOption(outputOption(['text', 'json', 'junit', 'github']))
    .option('--secrets', 'Also check that every secret and environment variable is set')
    .action((options: ValidateOptions) =>
      start(async (context) => (await import('../actions/validate.ts')).validate(context, options), {
        severalWorkspaces: true,
      }),
    );
}
