import type { Command } from 'commander';
import { ExitCode, UserError } from '../../problems/user-error.ts';
import type { ImportOptions } from '../actions/import.ts';
import type { Start } from '../context.ts';
import { address as addressArgument, withLock, withPlatform } from '../flags.ts';

export function defineImport(program: Command, start: Start): void {
  withPlatform(withLock(program.command('import')))
    .summary('Import existing records')
    .description(
      'Import an existing record under an address of the manifests, or many records with --from. Also resolves an unknown create whose record exists.',
    )
    .argument('[address]', 'Address in the manifests, e.g. Agent/support-line', addressArgument)
    .argument('[id]', 'Id of the record on the platform')
    .option('--from <file>', 'CSV file with the header address,id; imports all rows or none')
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
  return new UserError('import needs ADDRESS and ID, or --from FILE', {
    hint: 'Run voxform import ADDRESS ID, or voxform import --from FILE.',
    exitCode: ExitCode.usage,
  });
}
