import { InvalidArgumentError, Option } from 'commander';
import type { CommandTable } from '../context.ts';
import {
  checkedAddress,
  collectItems,
  type DiscoverySummary,
  joinNames,
  outputOption,
  parsePositiveInteger,
  parseText,
  parseWholeNumber,
  withApproval,
  withDiscovery,
  withFull,
  withLock,
  withPlatform,
  withPolicies,
} from '../flags.ts';

/** Commands that import and export records, and copy them to another workspace. */
export const adoptCommands = {
  import: {
    summary: 'Import existing records',
    define: (command, perform) =>
      withPlatform(withLock(command))
        .description(
          'Import an existing record under an address of the manifests, or many records with --from. Also resolves an unknown create whose record exists.',
        )
        .argument('[address]', 'Address in the manifests, e.g. Agent/support-line', checkedAddress)
        .argument('[id]', 'Id of the record on the platform')
        .option(
          '--from <file>',
          'CSV file with the header address,id, or the id map of a migration; imports all rows or none',
        )
        .action(perform(async () => (await import('../actions/import.ts')).importRecords)),
  },
  export: {
    summary: 'Export a workspace as a new project',
    define: async (command, perform) => {
      withPlatform(command)
        .requiredOption('--out <dir>', 'Folder to write, new or empty', parseText)
        .option('--force', 'Write into a folder that is not empty, replacing files of the same name')
        .addOption(
          new Option('--layout <layout>', 'One file per resource, or one per kind')
            .choices(['resource', 'kind'])
            .default('resource'),
        )
        .option(
          '--workspace-ids',
          'Write the ids of the records to the workspace in voxform.yaml, so that the manifests also fit other workspaces',
        )
        .option(
          '--api-key-secret <name>',
          'Secret with the API key of the model providers, set for each agent whose provider is not internal',
          checkedSecretName,
        )
        .action(perform(async () => (await import('../actions/export.ts')).exportWorkspace));
      await withDiscovery(command, exportDescription);
    },
  },
  migrate: {
    summary: 'Copy the resources of one workspace to another',
    define: async (command, perform) => {
      withPolicies(withFull(withPlatform(withLock(command))))
        .description(
          'Copy the resources of one workspace to another. Shows a checklist of the prerequisites that the target lacks, then creates the resources in the order of their references. Run it again to resume. The remaining manual steps are listed at the end.',
        )
        .requiredOption('--from <workspace>', 'Source workspace, by its name in the project')
        .requiredOption('--to <workspace>', 'Target workspace, by its name in the project')
        .addOption(
          new Option(
            '--source <source>',
            'Copy from the manifests, or from the live workspace, whose records are first written as manifests',
          )
            .choices(['manifests', 'live'])
            .default(undefined, 'manifests if any'),
        )
        .option(
          '--map <file>',
          'YAML file that maps knowledge bases of the source to those of the target, by name or id',
        )
        .option('--include <glob...>', 'Only these addresses, e.g. Agent/support-*', collectItems)
        .option('--exclude <glob...>', 'All but these addresses', collectItems)
        .option(
          '--batch <n>',
          'Write resources in batches of n, and check for failures after each batch',
          parsePositiveInteger,
        )
        .option(
          '--max-failures <n>',
          'Stop after a batch if more than n resources have failed (default: 0)',
          parseWholeNumber,
        )
        .option('--dry-run', 'Show the checklist and the plan; write nothing');
      withApproval(command)
        .addOption(outputOption(['text', 'json']))
        .action(perform(async () => (await import('../actions/migrate.ts')).migrate));
      await withDiscovery(command);
    },
  },
} satisfies CommandTable;

function exportDescription({ listed, mentioned, sources }: DiscoverySummary): string {
  return `Export a workspace as a new project: manifests that import the existing records, prompts in files, and references instead of ids. The API lists ${joinNames(listed)}; ${joinNames(mentioned)} are found through ${joinNames(sources)}. Changes nothing on the platform.`;
}

function checkedSecretName(name: string): string {
  if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) return name;
  throw new InvalidArgumentError('Expected a secret name, such as OPENAI_API_KEY.');
}
