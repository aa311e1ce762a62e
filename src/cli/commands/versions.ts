import type { Command } from 'commander';
import type { RollbackOptions, VersionsOptions } from '../actions/versions.ts';
import type { Start } from '../context.ts';
import { address as addressArgument, outputOption, positiveInteger, withPlatform } from '../flags.ts';

export function defineVersions(program: Command, start: Start): void {
  withPlatform(program.command('versions'))
    .summary('Show published versions')
    .description('List the published versions of a resource, show one, or compare two.')
    .argument('<address>', 'Address, e.g. Agent/support-line', addressArgument)
    .argument('[version]', 'Version to show', positiveInteger)
    .option('--diff <version>', 'Compare with this version', positiveInteger)
    .addOption(outputOption(['text', 'json']))
    .action((address: string, version: number | undefined, options: VersionsOptions) =>
      start(async (context) =>
        (await import('../actions/versions.ts')).versions(context, { address, version }, options),
      ),
    );
}

export function defineRollback(program: Command, start: Start): void {
  withPlatform(program.command('rollback'))
    .summary('Write a published version into the manifests')
    .description(
      'Write the values of a published version into the manifests, for the next apply to restore. Changes managed fields only. Writes nothing to the platform.',
    )
    .argument('<address>', 'Address, e.g. Agent/support-line', addressArgument)
    .requiredOption('--to <version>', 'Published version', positiveInteger)
    .option('--dry-run', 'Show the diff and write nothing')
    .option('--auto-approve', 'Skip the approval prompt')
    .addOption(outputOption(['text', 'json']))
    .action((address: string, options: RollbackOptions) =>
      start(async (context) => (await import('../actions/versions.ts')).rollback(context, address, options)),
    );
}
