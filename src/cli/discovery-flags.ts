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
    .option('--agents <id...>', 'agents to look at beside those that are found')
    .option('--agents-from <file>', 'a file with their ids, one a line')
    .option('--webhooks <id...>', 'webhooks to look at: nothing else leads to them')
    .option('--webhooks-from <file>', 'a file with their ids, one a line')
    .option(
      '--calls-from <date>',
      'look for agents in calls from this day on (default: all calls)',
      parseDate,
    );
}

/** From when on calls are read where nobody says. */
export const ALL_CALLS = new Date(0);

function parseDate(text: string): Date {
  return new Date(dateOrMoment(text));
}
