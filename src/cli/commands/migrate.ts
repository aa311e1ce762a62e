import { type Command, Option } from 'commander';
import type { MigrateOptions } from '../actions/migrate.ts';
import type { Start } from '../context.ts';
import { withDiscovery } from '../discovery-flags.ts';
import {
  collectItems,
  outputOption,
  positiveInteger,
  wholeNumber,
  withApplying,
  withFull,
  withLock,
  withPlatform,
} from '../flags.ts';

export function defineMigrate(program: Command, start: Start): void {
  const command = withFull(withPlatform(withLock(program.command('migrate'))))
    .summary('Copy the resources of one workspace to another')
    .description(
      'Copy the resources of one workspace to another. Shows a checklist of what the target lacks, then creates the resources in the order of their references. Run it again to resume. Manual steps are listed at the end.',
    )
    .requiredOption('--from <workspace>', 'Source workspace, by its name in the project')
    .requiredOption('--to <workspace>', 'Target workspace, by its name in the project')
    .addOption(
      new Option(
        '--source <source>',
        'Copy from the manifests, or from the live workspace, which writes manifests first',
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
      'Write resources in batches of n, and check for failures after each',
      positiveInteger,
    )
    .option('--max-failures <n>', 'Stop when more than n failed after a batch (default: 0)', wholeNumber)
    .option('--dry-run', 'Show the checklist and the plan; write nothing');
  withApplying(command)
    .addOption(outputOption(['text', 'json']))
    .action((options: MigrateOptions) =>
      start(async (context) => (await import('../actions/migrate.ts')).migrate(context, options)),
    );
  withDiscovery(command);
}
