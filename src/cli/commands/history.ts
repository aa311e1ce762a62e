import type { Command } from 'commander';
import type { HistoryOptions, RunOptions } from '../actions/history.ts';
import type { Start } from '../context.ts';
import { dateOrMoment } from '../dates.ts';
import { address as addressArgument, outputOption, positiveInteger } from '../flags.ts';

export function defineHistory(program: Command, start: Start): void {
  const history = program
    .command('history')
    .summary('List the runs that changed the state')
    .description(
      'List the runs that locked the state, the newest first: who ran which command, from which commit, and what it changed. The state keeps the history; it holds no values of fields.',
    )
    .argument('[address]', 'Only runs that changed this resource', addressArgument)
    .option('-n, --number <count>', 'How many runs', positiveInteger, 20)
    .option('--since <time>', 'Only runs since this date or time', dateOrMoment)
    .addOption(outputOption(['text', 'json', 'jsonl']))
    .action((address: string | undefined, options: HistoryOptions) =>
      start(async (context) => (await import('../actions/history.ts')).history(context, address, options)),
    );
  history
    .command('show')
    .summary('Show one run')
    .description('Show everything that the history has of one run.')
    .argument('<run>', 'Id of the run, or its beginning')
    .addOption(outputOption(['text', 'json']))
    .action((run: string, _: unknown, command: Command) =>
      start(async (context) =>
        // The flags of the list are taken by it wherever they stand.
        (await import('../actions/history.ts')).showRun(context, run, command.optsWithGlobals<RunOptions>()),
      ),
    );
}
