import { Argument, type Command, Option } from 'commander';
import type { get } from '../actions/get.ts';
import type { Start } from '../context.ts';
import { dateOrMoment } from '../dates.ts';
import { foundInCalls, parseDate, withKinds } from '../discovery-flags.ts';
import { collectText, positiveInteger, withPlatform } from '../flags.ts';

export function defineGet(program: Command, start: Start): void {
  const type = new Argument('<type>');
  const command = withPlatform(program.command('get'))
    .summary('Read records from the platform')
    .description('Read records from the platform. Long lists print page by page.')
    .addArgument(type)
    .argument('[id]', 'One record, by id or address')
    .argument('[version]', 'For versions: a number, or latest')
    .addOption(
      new Option('--output <format>', 'Output format')
        .choices(['table', 'json', 'jsonl', 'yaml', 'csv'])
        .default('table'),
    )
    .option('--limit <n>', 'Stop after this many records', positiveInteger)
    .option('--utc', 'Print times in UTC in the table (default: local time)')
    .option('--from <date>', 'Calls from this date or time on, in UTC', dateOrMoment)
    .option('--to <date>', 'Calls up to this date or time, in UTC', dateOrMoment)
    .option('--agent <agent>', 'Calls of this agent, by id or address')
    .option('--outcome <outcome>', 'Calls with this session_outcome')
    .option(
      '--where <condition>',
      'Calls whose field is =, !=, >, >=, < or <= a value, e.g. cost>=0.5 (repeatable)',
      collectText,
    )
    .action(
      (
        what: string,
        id: string | undefined,
        version: string | undefined,
        options: Parameters<typeof get>[2],
      ) =>
        start(async (context) =>
          (await import('../actions/get.ts')).get(context, { what, id, version }, options),
        ),
    );
  withKinds(command, async ({ kinds }) => {
    const { recordTypes } = await import('../../runs/record-types.ts');
    type.description = `One of ${[...recordTypes.keys()].join(', ')}`;
    command.option(
      '--calls-from <date>',
      `Look for ${foundInCalls(kinds)} in all calls from this date on (default: in the first 100 calls)`,
      parseDate,
    );
  });
}
