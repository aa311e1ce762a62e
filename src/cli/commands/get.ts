import { type Command, Option } from 'commander';
import type { GetOptions } from '../actions/get.ts';
import type { Start } from '../context.ts';
import { dateOrMoment } from '../dates.ts';
import { collectText, positiveInteger, withPlatform } from '../flags.ts';

export function defineGet(program: Command, start: Start): void {
  withPlatform(program.command('get'))
    .summary('read anything that the API can show')
    .description(
      'Reads agents, versions, numbers, webhooks, users, knowledge-bases, calls, invoices or api-keys. Lists are read page by page as they are printed.',
    )
    .argument(
      '<what>',
      'agents, versions, numbers, webhooks, users, knowledge-bases, calls, invoices or api-keys',
    )
    .argument('[id]', 'one record, by id or by address; for versions, of which agent')
    .argument('[version]', 'for versions: the record as of this one, or of latest')
    .addOption(
      new Option('--output <format>', 'form of the result')
        .choices(['table', 'json', 'jsonl', 'yaml', 'csv'])
        .default('table'),
    )
    .option('--limit <n>', 'at most so many records', positiveInteger)
    .option('--utc', 'times of a table in UTC (default: local time)')
    .option('--from <date>', 'calls from this day or moment on, in UTC', dateOrMoment)
    .option('--to <date>', 'calls up to this day or moment', dateOrMoment)
    .option('--agent <agent>', 'calls of this agent, by id or by address')
    .option('--outcome <outcome>', 'calls with this session_outcome')
    .option(
      '--where <condition>',
      'calls with a field that is =, !=, >, >=, < or <= a value, such as cost>=0.5 (repeatable)',
      collectText,
    )
    .action((what: string, id: string | undefined, version: string | undefined, options: GetOptions) =>
      start(async (context) =>
        (await import('../actions/get.ts')).get(context, { what, id, version }, options),
      ),
    );
}
