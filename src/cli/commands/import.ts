import type { Command } from 'commander';
import { ExitCode, UserError } from '../../problems/user-error.ts';
import type { ImportOptions } from '../actions/import.ts';
import type { Start } from '../context.ts';
import { address as addressArgument, withLock, withPlatform } from '../flags.ts';

export function defineImport(program: Command, start: Start): void {
  withPlatform(withLock(program.command('import')))
    .summary('take existing records under management')
    .description(
      'Takes one existing record under management, under an address of the manifests; or with --from many at once. Also the answer to an unknown create that turns out to have happened.',
    )
    .argument('[address]', 'what the manifest calls it, e.g. Agent/support-line', addressArgument)
    .argument('[id]', "the record's id on the platform")
    .option('--from <file>', 'take in the rows of a CSV file with the header address,id: all or none')
    .action((address: string | undefined, id: string | undefined, options: ImportOptions) =>
      start(async (context) => {
        const { importFile, importRecord } = await import('../actions/import.ts');
        if (options.from !== undefined && address === undefined)
          return importFile(context, options.from, options);
        if (options.from !== undefined || address === undefined || id === undefined) throw wrongUse();
        return importRecord(context, { address, id }, options);
      }),
    );
}

function wrongUse(): UserError {
  return new UserError('import needs an address and an id, or a file of them', {
    hint: 'voxform import ADDRESS ID, or voxform import --from FILE',
    exitCode: ExitCode.usage,
  });
}
