import { type Command, InvalidArgumentError, Option } from 'commander';
import type { ExportOptions } from '../actions/export.ts';
import type { Start } from '../context.ts';
import { type Discoverable, inWords, withDiscovery } from '../discovery-flags.ts';
import { withPlatform } from '../flags.ts';

export function defineExport(program: Command, start: Start): void {
  withPlatform(withDiscovery(program.command('export'), described))
    .summary('Export a workspace as a new project')
    .requiredOption('--out <dir>', 'Folder to write, new or empty', named)
    .option('--force', 'Write into a folder that is not empty, replacing files of the same name')
    .addOption(
      new Option('--layout <layout>', 'One file per resource, or one per kind')
        .choices(['resource', 'kind'])
        .default('resource'),
    )
    .action((options: ExportOptions) =>
      start(async (context) => (await import('../actions/export.ts')).exportWorkspace(context, options)),
    );
}

function described({ listed, mentioned, sources }: Discoverable): string {
  return `Export a workspace as a new project: manifests that adopt the records, prompts in files, references instead of ids. The API lists ${inWords(listed)}; ${inWords(mentioned)} are found through ${inWords(sources)}. Changes nothing on the platform.`;
}

function named(folder: string): string {
  if (folder === '') throw new InvalidArgumentError('Expected a folder name.');
  return folder;
}
