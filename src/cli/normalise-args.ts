import type { Command, Option } from 'commander';
import { Reader } from './completion/cursor.ts';

/**
 * Translates unambiguous spellings of other tools: one dash before a long flag (`-auto-approve`, `-out=f`, even if it is unknown),
 * `-o json` and `--json` for `--output json`, `-y` for `--auto-approve`, and `help state list` for `state list --help`. Other words are
 * unchanged.
 */
export function normaliseArgs(program: Command, args: readonly string[]): string[] {
  const reader = new Reader(program);
  return withHelpLast(args).map((arg) => {
    const word = reader.readsFlag(arg) ? normalisedFlag(arg, reader) : arg;
    reader.take(word);
    return word;
  });
}

/** Returns true if the arguments request JSON output, in any spelling. */
export function requestsJson(args: readonly string[]): boolean {
  return args.some(
    (arg, index) =>
      /^(--?json|-o=?json|--output=json)$/.test(arg) ||
      (arg === 'json' && /^(-o|--output)$/.test(args[index - 1] ?? '')),
  );
}

/** Moves a leading `help` to the end of the command, as `--help`. */
function withHelpLast(args: readonly string[]): readonly string[] {
  const [first, ...names] = args;
  return first === 'help' ? [...names.filter((name) => name !== 'help' && name !== '--help'), '--help'] : args;
}

function normalisedFlag(word: string, reader: Reader): string {
  const [name = ''] = word.split('=', 1);
  const rest = word.slice(name.length);
  if (reader.optionOf(name) !== undefined) return word;
  if (name.startsWith('--')) return outputFlag(word, reader) ?? word;
  if (word === '-help' || (name.length > 2 && reader.optionOf(`-${name}`) !== undefined)) return `-${word}`;
  if (name === '-y' && rest === '' && reader.optionOf('--auto-approve') !== undefined) return '--auto-approve';
  return outputFlag(word, reader) ?? (isLong(name) && !areShortFlags(name.slice(1), reader) ? `-${word}` : word);
}

function isLong(name: string): boolean {
  return /^-[a-z][a-z-]/i.test(name);
}

/** Returns true for combined short flags such as `-qv`. The last flag may include its value, as in `-Cdir`. */
function areShortFlags(letters: string, reader: Reader): boolean {
  const option = reader.optionOf(`-${letters.charAt(0)}`);
  if (option === undefined) return false;
  return !option.isBoolean() || letters.length === 1 || areShortFlags(letters.slice(1), reader);
}

/** Translates `-o json`, `-o=json`, `-ojson`, `--json` and `-json`; undefined for other words. */
function outputFlag(word: string, reader: Reader): string | undefined {
  const output = reader.optionOf('--output');
  if (output === undefined) return undefined;
  if (/^--?json$/.test(word)) return hasChoice(output, 'json') ? '--output=json' : undefined;
  if (word === '-o') return '--output';
  const value = /^-o=?(.+)$/.exec(word)?.[1];
  if (value === undefined) return undefined;
  return word.startsWith('-o=') || hasChoice(output, value) ? `--output=${value}` : undefined;
}

function hasChoice({ argChoices = [] }: Option, value: string): boolean {
  return argChoices.includes(value);
}
