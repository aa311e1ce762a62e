import { Argument, type Command, type CommanderError, InvalidArgumentError, type Option } from 'commander';
import { parseAddress } from '../manifests/resource.ts';
import { didYouMean, meant, nearest } from '../problems/suggest.ts';
import { misuse, type UserError } from '../problems/user-error.ts';
import { cursorIn } from './completion/cursor.ts';
import { itemsOf } from './flags.ts';
import { pathOf } from './help.ts';
import { knownElsewhere } from './other-tools.ts';

/** Codes that the parser throws after it has printed help or the version. */
const printed = new Set(['commander.help', 'commander.helpDisplayed', 'commander.version']);

/** A parser error in our words; undefined if it only ends the run. */
export function usageError(
  { code, message }: CommanderError,
  program: Command,
  { typed, args }: { readonly typed: readonly string[]; readonly args: readonly string[] },
): UserError | undefined {
  if (printed.has(code)) return undefined;
  const { command, operands } = cursorIn(program, [...args, '']);
  const [operand] = operands;
  if (code === 'commander.excessArguments' && operand !== undefined && command.commands.length > 0)
    return unknownCommand(command, operand);
  const unknown = /^error: unknown (?:command|option) '([^']*)'/.exec(message)?.[1] ?? '';
  const known = knownHere(unknown, command);
  const hint =
    known ?? `${missingOf(message, command) ?? insteadOf(code, command, operand) ?? ''}${helpOf(command)} for usage.`;
  const shown = message.replace(`'${unknown}'`, `'${spellingOf(unknown, typed)}'`);
  const inWords = known === undefined ? inOurWords(shown) : (shown.split('\n')[0] ?? '').replace(/^error: /, '');
  const flag = unknown.replace(/=.*/s, '');
  const flags = flagsOf(command);
  const correction = flags.includes(flag) ? `; ${flag} takes no value` : didYouMean(flag, flags);
  return misuse(`${inWords}${known !== undefined || flag === unknown ? '' : correction}`, hint);
}

function helpOf(command: Command): string {
  return `Run ${['voxform', pathOf(command), '--help'].filter(Boolean).join(' ')}`;
}

function flagsOf(command: Command): string[] {
  const around = command.parent === null ? [] : flagsOf(command.parent);
  return [...command.options.flatMap(({ long }) => long ?? []), ...around];
}

/** The hint for a word of another tool, unless it names a flag that the command does not have. */
function knownHere(word: string, command: Command): string | undefined {
  const known = knownElsewhere(word, pathOf(command));
  if (known === undefined || !word.startsWith('-')) return known;
  const flags = flagsOf(command);
  return (known.match(/--[a-z-]+/g) ?? []).every((flag) => flags.includes(flag)) ? known : undefined;
}

/** The possible values of the missing argument or flag in the message. */
function missingOf(message: string, command: Command): string | undefined {
  const argument = command.registeredArguments.find((each) => message.includes(`required argument '${each.name()}'`));
  if (argument !== undefined) return `${argument.description}. `;
  const option = command.options.find(({ flags }) => message.includes(`required option '${flags}'`));
  return option?.argChoices === undefined ? undefined : `One of ${option.argChoices.join(', ')}. `;
}

function insteadOf(code: string, command: Command, operand = ''): string | undefined {
  const takesTarget = flagsOf(command).includes('--target') && parseAddress(operand) !== undefined;
  return code === 'commander.excessArguments' && takesTarget ? `Use --target ${operand}. ` : undefined;
}

/** A flag typed with one dash also has one in its message. */
function spellingOf(flag: string, typed: readonly string[]): string {
  const single = flag.slice(1);
  const isTyped = (spelling: string) => typed.some((word) => word === spelling || word.startsWith(`${spelling}=`));
  return flag.startsWith('--') && !isTyped(flag) && isTyped(single) ? single : flag;
}

/**
 * The error for help of an unknown command. The parser would print the help of its parent.
 * @throws UserError
 */
export function refuseUnknownHelp(program: Command, args: readonly string[]): void {
  if (!args.includes('--help') && !args.includes('-h')) return;
  const { command, operands } = cursorIn(program, [...args, '']);
  const [name] = operands;
  if (command.commands.length === 0 || name === undefined) return;
  throw unknownCommand(command, name);
}

function unknownCommand(command: Command, name: string): UserError {
  const names = command.commands.map((each) => each.name());
  const known = knownElsewhere(name, pathOf(command));
  return misuse(
    `unknown command '${name}'${known === undefined ? didYouMean(name, names) : ''}`,
    known ?? `${helpOf(command)} to list the commands.`,
  );
}

/** Suggests a value for flags and arguments with a few choices. */
export function suggestChoices(command: Command): void {
  for (const each of [...command.options, ...command.registeredArguments]) {
    if (each.argChoices !== undefined) takeOneOf(each, each.argChoices);
  }
  for (const child of command.commands) suggestChoices(child);
}

type Choice = string | readonly string[];

function takeOneOf(each: Option | Argument, choices: readonly string[]): void {
  const parse = (given: string, earlier: Choice | undefined): Choice => {
    const before = Array.isArray(earlier) ? earlier : [];
    const items = each.variadic ? itemsOf(given) : [given];
    const odd = items.find((item) => !choices.includes(item));
    if (odd === undefined) return each.variadic ? [...before, ...items] : given;
    const suggestion = nearest(odd, choices) === undefined ? '.' : didYouMean(odd, choices);
    throw new InvalidArgumentError(`Expected one of ${choices.join(', ')}${suggestion}`);
  };
  if (each instanceof Argument) each.argParser<Choice>(parse);
  else each.argParser<Choice>(parse);
}

function inOurWords(message: string): string {
  return message
    .replace(/^error: /, '')
    .replace(/^command-argument /, '')
    .replace(/\n\(Did you mean (?:one of )?(.*)\?\)$/s, (_, words: string) =>
      meant(words.split(', ').map((word) => `"${word}"`)),
    );
}
