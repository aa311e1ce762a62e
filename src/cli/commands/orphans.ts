import { type Command, Option } from 'commander';
import type { CloseOptions, OrphansOptions } from '../actions/orphans.ts';
import type { Start } from '../context.ts';
import { outputOption, withLock, withPlatform } from '../flags.ts';

export function defineOrphans(program: Command, start: Start): void {
  const orphans = withLock(withPlatform(program.command('orphans')))
    .summary('records that are no longer managed')
    .description(
      'Lists the records that voxform released and that may still exist. The API deletes nothing: delete them in the dashboard, then close them.',
    )
    .addOption(outputOption(['text', 'json']))
    .option('--all', 'also those that are closed')
    .option(
      '--check',
      'look whether each still exists, and offer to close those that the platform has no more',
    )
    .option('--auto-approve', 'with --check: close them without asking')
    .action((options: OrphansOptions) =>
      start(async (context) => (await import('../actions/orphans.ts')).orphans(context, options)),
    );
  withLock(orphans.command('close'))
    .summary('take records off the list')
    .description(
      'Closes orphans about which nothing is left to do. One that was handed over or is kept is never managed again by itself, only by voxform import.',
    )
    .argument('<ids...>', 'of the records')
    .addOption(
      new Option('--because <reason>', 'what became of them')
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
