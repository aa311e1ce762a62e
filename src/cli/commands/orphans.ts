import { type Command, Option } from 'commander';
import type { CloseOptions, OrphansOptions } from '../actions/orphans.ts';
import type { Start } from '../context.ts';
import { outputOption, withLock, withPlatform } from '../flags.ts';

export function defineOrphans(program: Command, start: Start): void {
  const orphans = withLock(withPlatform(program.command('orphans')))
    .summary('List and close records no longer managed')
    .description(
      'List the records that voxform released and that may still exist. The API cannot delete: delete them in the dashboard, then close them here.',
    )
    .addOption(outputOption(['text', 'json']))
    .option('--all', 'Include closed orphans')
    .option('--check', 'Check which orphans still exist, and close those that are missing')
    .action((options: OrphansOptions) =>
      start(async (context) => (await import('../actions/orphans.ts')).orphans(context, options)),
    );
  withLock(orphans.command('close'))
    .summary('Close orphans')
    .description(
      'Close orphans that need no more work. An orphan closed as handed-over or kept is managed again only by voxform import.',
    )
    .argument('<ids...>', 'Ids of the records, or their former addresses')
    .addOption(
      new Option('--because <reason>', 'Why they need no more work')
        .choices(['deleted', 'handed-over', 'kept'])
        .makeOptionMandatory(),
    )
    .action((ids: readonly string[], _: unknown, command: Command) =>
      start(async (context) =>
        // The flags of the list are taken by it wherever they stand.
        (await import('../actions/orphans.ts')).closeOrphans(
          context,
          ids,
          command.optsWithGlobals<CloseOptions>(),
        ),
      ),
    );
}
