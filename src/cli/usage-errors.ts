import { Argument, type Command, type CommanderError, InvalidArgumentError, type Option } from 'commander';
import { didYouMean, nearest } from '../problems/suggest.ts';
import { ExitCode, UserError } from '../problems/user-error.ts';
import { cursorIn } from './completion/cursor.ts';

/** Codes of what the parser throws once it has printed what was asked for. */
const printed = new Set(['commander.help', 'commander.helpDisplayed', 'commander.version']);

/** What the parser finds wrong with a command line, in our words; undefined where it only ends the run. */
export function usageError(
  { code, message }: CommanderError,
  program: Command,
  args: readonly string[],
): UserError | undefined {
  if (printed.has(code)) return undefined;
  const { command } = cursorIn(program, [...args, '']);
  return new UserError(inOurWords(message), {
    hint: `voxform ${wordsTo(command)}--help shows how it is used.`,
    exitCode: ExitCode.usage,
  });
}

/**
 * The error for `help` of a command that there is not, for which the parser would print the help of all.
 * @throws UserError
 */
export function refuseUnknownHelp(program: Command, args: readonly string[]): void {
  const [first, name] = args;
  if (first !== 'help' || name === undefined || name.startsWith('-')) return;
  const names = program.commands.map((command) => command.name());
  if (name === 'help' || names.includes(name)) return;
  throw new UserError(`unknown command '${name}'${didYouMean(name, names)}`, {
    hint: 'voxform --help lists the commands.',
    exitCode: ExitCode.usage,
  });
}

/** Makes flags and arguments with a few possible values say which one was probably meant. */
export function suggestChoices(command: Command): void {
  for (const each of [...command.options, ...command.registeredArguments]) {
    if (each.argChoices !== undefined) takeOneOf(each, each.argChoices);
  }
  for (const child of command.commands) suggestChoices(child);
}

function takeOneOf(each: Option | Argument, choices: readonly string[]): void {
  const parse = (given: string): string => {
    if (choices.includes(given)) return given;
    throw new InvalidArgumentError(`It takes ${choices.join(', ')}${suggested(given, choices)}`);
  };
  if (each instanceof Argument) each.argParser(parse);
  else each.argParser(parse);
}

function suggested(given: string, choices: readonly string[]): string {
  return nearest(given, choices) === undefined ? '.' : didYouMean(given, choices);
}

function inOurWords(message: string): string {
  return message
    .replace(/^error: /, '')
    .replace(/^command-argument /, '')
    .replace(/\n\(Did you mean (?:one of )?(.*)\?\)$/s, (_, words: string) => {
      const names = words.split(', ').map((word) => `"${word}"`);
      return `; did you mean ${names.join(' or ')}?`;
    });
}

function wordsTo(command: Command): string {
  return command.parent === null ? '' : `${wordsTo(command.parent)}${command.name()} `;
}
