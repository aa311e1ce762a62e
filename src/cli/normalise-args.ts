import type { Command, Option } from 'commander';
import { Reader } from './completion/cursor.ts';

/**
 * Translates unambiguous spellings of other tools: one dash before a long flag (`-auto-approve`, `-out=f`, also an unknown one), `-o
 * json` and `--json` for `--output json`, `-y` for `--auto-approve`, and `help state list` for `state list --help`. Everything else is
 * left to the parser.
 */
export function normalisedArgs(program: Command, args: readonly string[]): string[] {
  const reader = new Reader(program);
  return helpLast(args).map((arg) => {
    const word = reader.readsFlag(arg) ? flagOf(arg, reader) : arg;
    reader.take(word);
    return word;
  });
}

/** True if the words ask for JSON in any spelling. */
export function asksForJson(args: readonly string[]): boolean {
  return args.some(
    (arg, index) =>
      /^(--?json|-o=?json|--output=json)$/.test(arg) ||
      (arg === 'json' && /^(-o|--output)$/.test(args[index - 1] ?? '')),
  );
}

/** A leading `help`, followed by names of commands. */
function helpLast(args: readonly string[]): readonly string[] {
  const [first, ...names] = args;
  return first === 'help' ? [...names.filter((name) => name !== 'help' && name !== '--help'), '--help'] : args;
}

function flagOf(word: string, reader: Reader): string {
  const [name = ''] = word.split('=', 1);
  const rest = word.slice(name.length);
  if (reader.optionOf(name) !== undefined) return word;
  if (name.startsWith('--')) return outputFlag(word, reader) ?? word;
  if (word === '-help' || (name.length > 2 && reader.optionOf(`-${name}`) !== undefined)) return `-${word}`;
  if (name === '-y' && rest === '' && reader.optionOf('--auto-approve') !== undefined) return '--auto-approve';
  return outputFlag(word, reader) ?? (isLong(name) && !areShort(name.slice(1), reader) ? `-${word}` : word);
}

function isLong(name: string): boolean {
  return /^-[a-z][a-z-]/i.test(name);
}

/** Joined short flags such as `-qv`. The last may have its value, as in `-Cdir`. */
function areShort(letters: string, reader: Reader): boolean {
  const option = reader.optionOf(`-${letters.charAt(0)}`);
  if (option === undefined) return false;
  return !option.isBoolean() || letters.length === 1 || areShort(letters.slice(1), reader);
}

/** `-o json`, `-o=json`, `-ojson`, `--json` and `-json`. */
function outputFlag(word: string, reader: Reader): string | undefined {
  const output = reader.optionOf('--output');
  if (output === undefined) return undefined;
  if (/^--?json$/.test(word)) return takes(output, 'json') ? '--output=json' : undefined;
  if (word === '-o') return '--output';
  const value = /^-o=?(.+)$/.exec(word)?.[1];
  if (value === undefined) return undefined;
  return word.startsWith('-o=') || takes(output, value) ? `--output=${value}` : undefined;
}

function takes({ argChoices = [] }: Option, value: string): boolean {
  return argChoices.includes(value);
}
