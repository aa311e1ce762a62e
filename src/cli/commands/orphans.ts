import type { Command } from 'commander';
import type { OrphansOptions } from '../actions/orphans.ts';
import type { Start } from '../context.ts';
import { outputOption, withPlatform } from '../flags.ts';

export function defineOrphans(program: Command, start: Start): void {
  withPlatform(program.command('orphans'))
    .summary('records that are no longer managed')
    .description(
      'Lists records that voxform has let go of and that nobody has deleted, as far as it knows: the API deletes nothing, so a person must, in the dashboard.',
    )
    .addOption(outputOption(['text', 'json']))
    .option('--check', 'look whether each still exists')
    .action((options: OrphansOptions) =>
      start(async (context) => (await import('../actions/orphans.ts')).orphans(context, options)),
    );
}
