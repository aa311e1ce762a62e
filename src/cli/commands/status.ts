import { type Command, Option } from 'commander';
import { syncStatuses } from '../../runs/sync-status.ts';
import type { StatusOptions } from '../actions/status.ts';
import type { Start } from '../context.ts';
import {
  collectItems,
  duration,
  outputOption,
  withPlatform,
  withSelection,
  withWorkspaces,
} from '../flags.ts';

export function defineStatus(program: Command, start: Start): void {
  withWorkspaces(withPlatform(withSelection(program.command('status'))))
    .summary('Show the status of each resource')
    .description(
      'Show the status of each resource: in sync, drifted, unverified, not applied, manual or unknown, with its unverified fields and what publishing its draft would change. Changes nothing.',
    )
    .addOption(outputOption(['text', 'json']))
    .option('--kind <kinds...>', 'Only resources of these kinds', collectItems)
    .addOption(
      new Option('--only <statuses...>', 'Only resources with this status').choices(
        syncStatuses.map((standing) => standing.replace(' ', '-')),
      ),
    )
    .option('--detailed-exitcode', 'Exit with 2 when a resource is not in sync')
    .option('--wait-published', 'Wait until every agent is published; exit with 1 on timeout')
    .addOption(duration('--timeout', 'How long --wait-published waits', { seconds: 600, as: '10m' }))
    .action((options: StatusOptions) =>
      start(async (context) => (await import('../actions/status.ts')).status(context, options), {
        severalWorkspaces: true,
      }),
    );
}
