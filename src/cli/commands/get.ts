import { type Command, Option } from 'commander';
import type { get } from '../actions/get.ts';
import type { Start } from '../context.ts';
import { dateOrMoment } from '../dates.ts';
import { parseDate } from '../discovery-flags.ts';
import { collectText, positiveInteger, withPlatform } from '../flags.ts';

export function defineGet(program: Command, start: Start): void {
  withPlatform(program.command('get'))
    .summary('Read records from the platform')
    .description(
      'Read records from the platform: agents, versions, numbers, webhooks, users, knowledge-bases, calls, invoices or api-keys. Long lists print page by page.',
    )
    .argument('<type>', 'Type of record, from the list above')
    .argument('[id]', 'One record, by id or address; for versions, the agent')
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
    .option(
      '--calls-from <date>',
      'Look for agents in all calls from this date on (default: in the first 100 calls)',
      parseDate,
    )
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
}
