import type { Command } from 'commander';
import type { ImportOptions } from '../actions/import.ts';
import type { Start } from '../context.ts';
import { address as addressArgument, withLock, withPlatform } from '../flags.ts';

export function defineImport(program: Command, start: Start): void {
  withPlatform(withLock(program.command('import')))
    .summary('take an existing record under management')
    .description(
      'Takes one existing record under management, under an address of the manifests. Also the answer to an unknown create that turns out to have happened.',
    )
    .argument('<address>', 'what the manifest calls it, e.g. Agent/support-line', addressArgument)
    .argument('<id>', "the record's id on the platform")
    .action((address: string, id: string, options: ImportOptions) =>
      start(async (context) =>
        (await import('../actions/import.ts')).importRecord(context, { address, id }, options),
      ),
    );
}
