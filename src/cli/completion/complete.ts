import { readdirSync } from 'node:fs';
import path from 'node:path';
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

/*
 * The script of a shell, in `completions/`, passes every word to `voxform completion SHELL --complete` with a leading =, so that none is
 * empty or looks like a flag. It reads candidates, or :files, :folders and :stay.
 */

export const SHELLS = ['bash', 'zsh', 'fish', 'powershell'] as const;

export type Shell = (typeof SHELLS)[number];

/** An instruction to the shell's script in place of a candidate. */
const FILES = ':files';
const FOLDERS = ':folders';
/** No blank after the word: more will follow. */
const STAY = ':stay';

/** The lines for the script of a shell: candidates with descriptions after a tab, or what the shell must complete itself. */
export function answerFor(shell: Shell, { candidates, cursor }: Completion, cwd: string): string {
  const lines =
    typeof candidates === 'string'
      ? pathLines(candidates, cursor, cwd)
      : candidates.map(({ value, description }) => line(forShell(shell, value), description));
  return lines.map((each) => `${each}\n`).join('');
}

function pathLines(what: 'files' | 'folders', { flags, text }: CompletionCursor, cwd: string): string[] {
  // With -C, the shell is in another folder and cannot complete files there.
  if (!flags.has('--chdir')) return [what === 'files' ? FILES : FOLDERS];
  const parent = text.slice(0, text.lastIndexOf('/') + 1);
  const entries = readdirSync(path.resolve(cwd, parent), { withFileTypes: true });
  const fitting = entries
    .filter((entry) => entry.isDirectory() || what === 'files')
    .map((entry) => `${parent}${entry.name}${entry.isDirectory() ? '/' : ''}`)
    .filter((each) => each.startsWith(text) && /^[\w./@+-]+$/.test(each))
    .filter((each) => !each.slice(parent.length).startsWith('.') || text.length > parent.length);
  const [only] = fitting;
  return fitting.length === 1 && only?.endsWith('/') ? [only, STAY] : fitting;
}

/** For bash, the text after = is a separate word. */
function forShell(shell: Shell, value: string): string {
  return shell === 'bash' ? value.replace(/^--[^=]*=/, '') : value;
}

function line(value: string, description: string): string {
  const words = description.replace(/\s+/g, ' ').trim();
  return words === '' ? value : `${value}\t${words}`;
}

/** The actual words: bash splits them at = and passes them with their quotes. */
export function wordsFrom(shell: Shell, given: readonly string[]): string[] {
  const words = given.map((word) => word.replace(/^=/, ''));
  if (shell !== 'bash') return words;
  const joined: string[] = [];
  for (const [index, word] of words.entries()) {
    const before = words[index - 1];
    const continues = word === '=' ? before?.startsWith('--') : before === '=' && index > 1;
    if (continues && joined.length > 0) joined.push(`${joined.pop()}${word}`);
    else joined.push(word);
  }
  return joined.map(unquoted);
}

function unquoted(word: string): string {
  return word.replace(/'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)/g, (_, single, double, escaped) =>
    String(single ?? double?.replace(/\\(["\\$`])/g, '$1') ?? escaped),
  );
}
