import { type Command, Option } from 'commander';
import { standings } from '../../runs/standings.ts';
import type { StatusOptions } from '../actions/status.ts';
import type { Start } from '../context.ts';
import { outputOption, parseSeconds, withPlatform, withSelection, withWorkspaces } from '../flags.ts';

export function defineStatus(program: Command, start: Start): void {
  withWorkspaces(withPlatform(withSelection(program.command('status'))))
    .summary('one line for each resource')
    .description(
      'Says of each resource whether it is in sync, drifted, unverified, not applied by the platform, manual or unknown, which of its fields are unverified, and what publishing its draft would change. Changes nothing.',
    )
    .addOption(outputOption(['text', 'json']))
    .option('--kind <kinds...>', 'only resources of these kinds')
    .addOption(
      new Option('--only <standings...>', 'only resources that stand so').choices(
        standings.map((standing) => standing.replace(' ', '-')),
      ),
    )
    .option('--detailed-exitcode', 'exit with 2 when anything is not in sync')
    .option('--wait-published', 'look again until every agent is published; exit with 1 when time is up')
    .option('--timeout <duration>', 'how long to wait', parseSeconds, 600)
    .action((options: StatusOptions) =>
      start(async (context) => (await import('../actions/status.ts')).status(context, options), {
        severalWorkspaces: true,
      }),
    );
}
