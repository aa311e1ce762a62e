import type { Command } from 'commander';
import { dateOrMoment } from './dates.ts';

/** The flags of commands that look for everything in a workspace: ids of kinds that no list shows, and how far to look back. */
export interface DiscoveryFlags {
  readonly callsFrom?: Date;
  readonly [flag: string]: unknown;
}

const discovering = new WeakSet<Command>();

/** Marks a command that looks for everything: `withKindFlags` gives it its flags. */
export function withDiscovery(command: Command): Command {
  discovering.add(command);
  return command;
}

/** Gives such commands their flags, if one of the words names one: kinds, which declare them, take long to load. */
export async function withKindFlags(program: Command, words?: readonly string[]): Promise<Command> {
  const commands = program.commands.filter((command) => discovering.has(command));
  if (words !== undefined && !commands.some((command) => words.includes(command.name()))) return program;
  const { kinds } = await import('../kinds/index.ts');
  for (const command of commands) {
    for (const { list, mentions, table } of kinds.values()) {
      if (list !== undefined) continue;
      const [first = '', ...rest] = table.name;
      const what =
        mentions === undefined
          ? `${first.toUpperCase()}${rest.join('')} to read; the API cannot list them`
          : `Additional ${table.name} to read`;
      command.option(`--${table.name} <id...>`, what);
      command.option(`--${table.name}-from <file>`, 'File of ids, one per line');
    }
    command.option(
      '--calls-from <date>',
      'Search for agents only in calls from this date on (default: all calls)',
      parseDate,
    );
  }
  return program;
}

/** From when on calls are read where nobody says. */
export const ALL_CALLS = new Date(0);

export function parseDate(text: string): Date {
  return new Date(dateOrMoment(text));
}
