import type { Command } from 'commander';
import type { Kind, Lookup } from '../kinds/kind.ts';
import { dateOrMoment } from './flags.ts';

/** The flags of commands that discover a workspace: ids of unlisted kinds, and how far to look back. */
export interface DiscoveryFlags {
  readonly callsFrom?: Date;
  readonly [flag: string]: unknown;
}

export interface Discoverable {
  /** Record types with a list, such as `numbers`. */
  readonly listed: readonly string[];
  /** Kinds found in other records. */
  readonly mentioned: readonly string[];
  /** Those other records. */
  readonly sources: readonly string[];
}

/** A command that discovers records, as in its description. */
export async function withDiscovery(command: Command, describe?: (discovery: Discoverable) => string): Promise<void> {
  const { kinds, lookups } = await import('../kinds/index.ts');
  const all = [...kinds.values()];
  const mentioned = all.filter(({ mentions }) => mentions !== undefined);
  const described = describe?.({
    listed: [...all.filter(({ list }) => list !== undefined), ...lookups.values()].map(wordsOf),
    mentioned: mentioned.map(wordsOf),
    sources: mentioned.flatMap(({ mentions = [] }) => mentions.map(({ name }) => name)),
  });
  if (described !== undefined) command.description(described);
  for (const { table, mentions } of all.filter(({ list }) => list === undefined)) {
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
    `Search for ${foundInCalls(kinds)} only in calls from this date on (default: all calls)`,
    parseDate,
  );
}

function wordsOf({ table }: Kind | Lookup): string {
  return table.name.replaceAll('-', ' ');
}

/** `numbers, users and calls` */
export function inWords(names: readonly string[]): string {
  return names.join(', ').replace(/, ([^,]*)$/, ' and $1');
}

/** The kinds that calls mention. */
export function foundInCalls(kinds: ReadonlyMap<string, Kind>): string {
  return [...kinds.values()]
    .filter(({ mentions = [] }) => mentions.some(({ name }) => name === 'calls'))
    .map(({ table }) => table.name)
    .join(' and ');
}

/** The default start of the calls to read. */
export const ALL_CALLS = new Date(0);

export function parseDate(text: string): Date {
  return new Date(dateOrMoment(text));
}
