import { type Command, InvalidArgumentError, Option } from 'commander';
import type { ExportOptions } from '../actions/export.ts';
import type { Start } from '../context.ts';
import { withDiscovery } from '../discovery-flags.ts';
import { withPlatform } from '../flags.ts';

export function defineExport(program: Command, start: Start): void {
  withPlatform(withDiscovery(program.command('export')))
    .summary('write a whole workspace out as a project')
    .description(
      'Writes everything that can be found in a workspace as a project of its own: manifests that adopt the records, texts in files, references instead of ids. Numbers, users and knowledge bases are listed; agents are found through numbers, users and calls. Changes nothing on the platform.',
    )
    .requiredOption('--out <dir>', 'the folder to write: new, or empty', named)
    .option('--force', 'write into a folder that holds something, over files of the same names')
    .addOption(
      new Option('--layout <layout>', 'one file for each resource, or for each kind')
        .choices(['resource', 'kind'])
        .default('resource'),
    )
    .action((options: ExportOptions) =>
      start(async (context) => (await import('../actions/export.ts')).exportWorkspace(context, options)),
    );
}

function named(folder: string): string {
  if (folder === '') throw new InvalidArgumentError('Expected the name of a folder.');
  return folder;
}
