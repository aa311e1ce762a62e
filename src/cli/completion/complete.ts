import { readdirSync } from 'node:fs';
import path from 'node:path';
import { Argument, type Command, type Option } from 'commander';
import { isRepeatable, splitsAtCommas } from '../flags.ts';
import { normaliseArgs } from '../normalise-args.ts';
import { type CompletionCursor, cursorIn } from './cursor.ts';
import type { CompletionSources, CompletionWord } from './project-sources.ts';

/** The candidate words, or the instruction to complete files or folders. */
type Candidates = readonly CompletionWord[] | 'files' | 'folders';

export interface Completion {
  readonly candidates: Candidates;
  readonly cursor: CompletionCursor;
}

/** Returns the candidates for the last word of a command line, which is incomplete. */
export async function complete(
  program: Command,
  words: readonly string[],
  sourcesFor: (cursor: CompletionCursor) => CompletionSources,
): Promise<Completion> {
  const typed = words.at(-1) ?? '';
  const cursor = cursorIn(program, [...normaliseArgs(program, words.slice(0, -1)), typed]);
  const all = await candidatesAt(cursor, sourcesFor(cursor));
  if (typeof all === 'string') return { candidates: all, cursor };
  const { text, wanted } = cursor;
  const isValue = wanted.type === 'value';
  const before = isValue && splitsAtCommas(wanted.of) ? text.slice(0, text.lastIndexOf(',') + 1) : '';
  const lead = `${isValue ? wanted.lead : ''}${before}`;
  const prefix = text.slice(before.length);
  const matching = all.filter(({ value }) => value.startsWith(prefix) && isShellSafe(value));
  return { candidates: matching.map((each) => ({ ...each, value: lead + each.value })), cursor };
}

/** Returns true if no character is special in a shell, because words from files must not become commands. */
function isShellSafe(value: string): boolean {
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

/** Returns the flags that are not on the command line yet, and all repeatable flags. */
function flagsOf(command: Command, given: ReadonlyMap<string, string>): CompletionWord[] {
  const help = command.createHelp();
  const options = [...help.visibleOptions(command), ...help.visibleGlobalOptions(command)];
  return options
    .filter((option) => !given.has(option.long ?? '') || isRepeatable(option))
    .map(({ long, short, description }) => ({ value: long ?? short ?? '', description }));
}

/** The sources of values. A key is a command with an argument, a flag, or the name of a value in help. */
const valueSources: Readonly<Record<string, keyof CompletionSources | 'files' | 'folders' | readonly string[]>> = {
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
  const name = of instanceof Argument ? of.name() : (/[<[]([^>\].]+)/.exec(of.flags)?.[1] ?? '');
  const group = command.parent?.parent == null ? '' : `${command.parent.name()} `;
  const fullName = of instanceof Argument ? `${group}${command.name()} ${name}` : `${of.long}`;
  const values = of.argChoices ?? valueSources[fullName] ?? valueSources[name] ?? [];
  if (typeof values !== 'string') return values.map((value) => ({ value, description: '' }));
  return values === 'files' || values === 'folders' ? values : sources[values](operands);
}

/*
 * The scripts in `completions/` pass every word to `voxform completion SHELL --complete` with a leading =, so that no word is empty or
 * looks like a flag. voxform prints candidates, or one of the instructions :files, :folders and :stay.
 */

export const SHELLS = ['bash', 'zsh', 'fish', 'powershell'] as const;

export type Shell = (typeof SHELLS)[number];

/** Instructs the script to complete files itself. */
const FILES = ':files';
/** Instructs the script to complete folders itself. */
const FOLDERS = ':folders';
/** Instructs the script to add no space after the word, because the user will continue typing it. */
const STAY = ':stay';

/** Returns the lines for the script of a shell: candidates with their descriptions after a tab, or an instruction. */
export function completionLines(shell: Shell, { candidates, cursor }: Completion, cwd: string): string {
  const lines =
    typeof candidates === 'string'
      ? pathLines(candidates, cursor, cwd)
      : candidates.map(({ value, description }) => line(forShell(shell, value), description));
  return lines.map((each) => `${each}\n`).join('');
}

function pathLines(type: 'files' | 'folders', { flags, text }: CompletionCursor, cwd: string): string[] {
  // With -C, the paths are not relative to the shell's current folder, so voxform completes them.
  if (!flags.has('--chdir')) return [type === 'files' ? FILES : FOLDERS];
  const parent = text.slice(0, text.lastIndexOf('/') + 1);
  const entries = readdirSync(path.resolve(cwd, parent), { withFileTypes: true });
  const matching = entries
    .filter((entry) => entry.isDirectory() || type === 'files')
    .map((entry) => `${parent}${entry.name}${entry.isDirectory() ? '/' : ''}`)
    .filter((each) => each.startsWith(text) && /^[\w./@+-]+$/.test(each))
    .filter((each) => !each.slice(parent.length).startsWith('.') || text.length > parent.length);
  const [first] = matching;
  return matching.length === 1 && first?.endsWith('/') ? [first, STAY] : matching;
}

/** Removes `--flag=` from a candidate for bash, because bash treats the text after = as a separate word. */
function forShell(shell: Shell, value: string): string {
  return shell === 'bash' ? value.replace(/^--[^=]*=/, '') : value;
}

function line(value: string, description: string): string {
  const words = description.replace(/\s+/g, ' ').trim();
  return words === '' ? value : `${value}\t${words}`;
}

/** Restores the words of the command line. Bash splits words at = and passes them with their quotes. */
export function restoreWords(shell: Shell, given: readonly string[]): string[] {
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
