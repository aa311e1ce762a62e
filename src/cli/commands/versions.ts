import type { Command } from 'commander';
import type { RollbackOptions, VersionsOptions } from '../actions/versions.ts';
import type { Start } from '../context.ts';
import { address as addressArgument, outputOption, positiveInteger, withPlatform } from '../flags.ts';

export function defineVersions(program: Command, start: Start): void {
  withPlatform(program.command('versions'))
    .summary('published versions of a resource')
    .description('Lists the published versions of a resource, shows one, or shows what is between two.')
    .argument('<address>', 'e.g. Agent/support-line', addressArgument)
    .argument('[version]', 'the one to show', positiveInteger)
    .option('--diff <version>', 'show what is between the two', positiveInteger)
    .addOption(outputOption(['text', 'json']))
    .action((address: string, version: number | undefined, options: VersionsOptions) =>
      start(async (context) =>
        (await import('../actions/versions.ts')).versions(context, { address, version }, options),
      ),
    );
}

export function defineRollback(program: Command, start: Start): void {
  withPlatform(program.command('rollback'))
    .summary('write a published version into the manifests')
    .description(
      'Writes the values of a published version into the manifests, as accept does, so that the next plan brings them back. Only fields that the manifests manage. Writes nothing to the platform.',
    )
    .argument('<address>', 'e.g. Agent/support-line', addressArgument)
    .requiredOption('--to <version>', 'the version', positiveInteger)
    .option('--dry-run', 'show the diff of the files and write nothing')
    .option('--auto-approve', 'write without asking')
    .addOption(outputOption(['text', 'json']))
    .action((address: string, options: RollbackOptions) =>
      start(async (context) => (await import('../actions/versions.ts')).rollback(context, address, options)),
    );
}
