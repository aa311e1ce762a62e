import type { Command } from 'commander';
import { dateOrMoment } from './dates.ts';

/** The flags of commands that look for everything in a workspace. */
export interface DiscoveryFlags {
  readonly agents?: readonly string[];
  readonly agentsFrom?: string;
  readonly webhooks?: readonly string[];
  readonly webhooksFrom?: string;
  readonly callsFrom?: Date;
}

export function withDiscovery(command: Command): Command {
  return command
    .option('--agents <id...>', 'Additional agents to read')
    .option('--agents-from <file>', 'File of ids, one per line')
    .option('--webhooks <id...>', 'Webhooks to read; the API cannot list them')
    .option('--webhooks-from <file>', 'File of ids, one per line')
    .option(
      '--calls-from <date>',
      'Search for agents only in calls from this date on (default: all calls)',
      parseDate,
    );
}

/** From when on calls are read where nobody says. */
export const ALL_CALLS = new Date(0);

export function parseDate(text: string): Date {
  return new Date(dateOrMoment(text));
}
