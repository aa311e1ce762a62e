import { type Command, Option } from 'commander';
import type { MigrateOptions } from '../actions/migrate.ts';
import type { Start } from '../context.ts';
import { withDiscovery } from '../discovery-flags.ts';
import {
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
    .summary('move the resources of a workspace into another')
    .description(
      'Checks what the other workspace lacks, shows it as a checklist, and creates there what the first one has: in the order of its references, and as resumable as an apply. Run again, it goes on where it stopped. What the API cannot do is listed at the end.',
    )
    .requiredOption('--from <workspace>', 'the workspace that is left, by its name in the project')
    .requiredOption('--to <workspace>', 'the workspace that is filled')
    .addOption(
      new Option(
        '--source <source>',
        'manifests of the project, or what is found in the workspace, which is then written as manifests (default: manifests where there are any)',
      ).choices(['manifests', 'live']),
    )
    .option('--map <file>', 'YAML with names or ids of knowledge bases there, and their names or ids here')
    .option('--include <glob...>', 'only these addresses, e.g. Agent/support-*')
    .option('--exclude <glob...>', 'all but these addresses')
    .option('--wave <n>', 'write so many resources, look at what failed, and go on', positiveInteger)
    .option('--max-failures <n>', 'failures with which another wave is begun (default: 0)', wholeNumber)
    .option('--dry-run', 'show the checklist and what would be done; write nothing');
  withApplying(command)
    .addOption(outputOption(['text', 'json']))
    .action((options: MigrateOptions) =>
      start(async (context) => (await import('../actions/migrate.ts')).migrate(context, options)),
    );
  withDiscovery(command);
}
