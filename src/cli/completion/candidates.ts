import { Argument, type Command, type Option } from 'commander';
import { isRepeatable, takesItems } from '../flags.ts';
import { normalisedArgs } from '../normalise-args.ts';
import { type CompletionCursor, cursorIn } from './cursor.ts';
import type { CompletionSources, CompletionWord } from './project-sources.ts';

/** The candidates of a place: known words, or files or folders in the command's folder. */
type Candidates = readonly CompletionWord[] | 'files' | 'folders';

export interface Completion {
  readonly candidates: Candidates;
  readonly cursor: CompletionCursor;
}

/** The candidates for a command line. Its last word is incomplete. */
export async function complete(
  program: Command,
  words: readonly string[],
  sourcesFor: (cursor: CompletionCursor) => CompletionSources,
): Promise<Completion> {
  const typed = words.at(-1) ?? '';
  const cursor = cursorIn(program, [...normalisedArgs(program, words.slice(0, -1)), typed]);
  const all = await candidatesAt(cursor, sourcesFor(cursor));
  if (typeof all === 'string') return { candidates: all, cursor };
  const { text, wanted } = cursor;
  const isValue = wanted.type === 'value';
  const before = isValue && takesItems(wanted.of) ? text.slice(0, text.lastIndexOf(',') + 1) : '';
  const lead = `${isValue ? wanted.lead : ''}${before}`;
  const begun = text.slice(before.length);
  const fitting = all.filter(({ value }) => value.startsWith(begun) && isPlain(value));
  return { candidates: fitting.map((each) => ({ ...each, value: lead + each.value })), cursor };
}

/** True for a word without a meaning in any shell: words from files must not become commands. */
function isPlain(value: string): boolean {
  return /^[\w./@:,+=-]+$/.test(value);
}

async function candidatesAt(
  { command, wanted, operands, flags }: CompletionCursor,
  sources: CompletionSources,
): Promise<Candidates> {
  const help = command.createHelp();
  switch (wanted.type) {
    case 'nothing':
      return [];
    case 'command':
      return help
        .visibleCommands(command)
        .map((each) => ({ value: each.name(), description: help.subcommandDescription(each) }));
    case 'flag':
      return flagsOf(command, flags);
    case 'value':
      return valuesOf(wanted.of, { command, operands }, sources);
    default:
      return wanted satisfies never;
  }
}

/** Flags that were not given yet, and repeatable ones. */
function flagsOf(command: Command, given: ReadonlyMap<string, string>): CompletionWord[] {
  const help = command.createHelp();
  const options = [...help.visibleOptions(command), ...help.visibleGlobalOptions(command)];
  return options
    .filter((option) => !given.has(option.long ?? '') || isRepeatable(option))
    .map(({ long, short, description }) => ({ value: long ?? short ?? '', description }));
}

type ValuesOf = keyof CompletionSources | 'files' | 'folders' | readonly string[];

/** The candidates of an argument or a flag; by the name of the value in help if nothing more is known. */
const valuesAt: Readonly<Record<string, ValuesOf>> = {
  'state show address': 'managed',
  'state rm address': 'managed',
  'state mv from': 'managed',
  'state mv to': 'addresses',
  'state resolve address': 'pending',
  'orphans close ids': 'orphans',
  'history show run': 'runs',
  'get type': 'recordTypes',
  'get id': 'readable',
  'schema name': 'schemas',
  'explain topic': 'topics',
  '--agent': 'agents',
  '--diff': ['published'],
  '--waive': 'waivable',
  '--where': 'callFields',
  '--workspace': 'workspaces',
  address: 'addresses',
  addresses: 'addresses',
  workspace: 'workspaces',
  workspaces: 'workspaces',
  file: 'files',
  files: 'files',
  'plan-file': 'files',
  dir: 'folders',
  folder: 'folders',
};

function valuesOf(
  of: Option | Argument,
  { command, operands }: Pick<CompletionCursor, 'command' | 'operands'>,
  sources: CompletionSources,
): Candidates | Promise<Candidates> {
  const slot = of instanceof Argument ? of.name() : (/[<[]([^>\].]+)/.exec(of.flags)?.[1] ?? '');
  const group = command.parent?.parent == null ? '' : `${command.parent.name()} `;
  const place = of instanceof Argument ? `${group}${command.name()} ${slot}` : `${of.long}`;
  const values = of.argChoices ?? valuesAt[place] ?? valuesAt[slot] ?? [];
  if (typeof values !== 'string') return values.map((value) => ({ value, description: '' }));
  return values === 'files' || values === 'folders' ? values : sources[values](operands);
}
