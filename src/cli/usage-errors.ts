import { Argument, type Command, type CommanderError, InvalidArgumentError, type Option } from 'commander';
import { parseAddress } from '../manifests/resource.ts';
import { didYouMean, didYouMeanOneOf, nearestCandidate } from '../problems/suggest.ts';
import { type UserError, usageError } from '../problems/user-error.ts';
import { cursorIn } from './completion/cursor.ts';
import { splitItems } from './flags.ts';
import { pathOf } from './help.ts';
import { hintForOtherTool } from './other-tools.ts';

/** The error codes that the parser throws after it has printed help or the version. */
const CODES_AFTER_PRINTING = new Set(['commander.help', 'commander.helpDisplayed', 'commander.version']);

/** Returns the `UserError` for an error of the parser; undefined if the parser has only printed help or the version. */
export function explainUsageError(
  { code, message }: CommanderError,
  program: Command,
  { typed, args }: { readonly typed: readonly string[]; readonly args: readonly string[] },
): UserError | undefined {
  if (CODES_AFTER_PRINTING.has(code)) return undefined;
  const { command, operands } = cursorIn(program, [...args, '']);
  const [operand] = operands;
  if (code === 'commander.excessArguments' && operand !== undefined && command.commands.length > 0)
    return unknownCommand(command, operand);
  const unknown = /^error: unknown (?:command|option) '([^']*)'/.exec(message)?.[1] ?? '';
  const otherToolHint = applicableHint(unknown, command);
  const ownHint = missingValueHint(message, command) ?? targetHint(code, command, operand) ?? '';
  const hint = otherToolHint ?? `${ownHint}${helpOf(command)} for usage.`;
  const flag = unknown.replace(/=.*/s, '');
  const asTyped = message.replace(`'${unknown}'`, `'${spellingOf(flag, typed)}'`);
  const text = otherToolHint === undefined ? reword(asTyped) : (asTyped.split('\n')[0] ?? '').replace(/^error: /, '');
  const flags = flagsOf(command);
  const correction = flags.includes(flag) ? `; ${flag} takes no value` : didYouMean(flag, flags);
  return usageError(`${text}${otherToolHint !== undefined || flag === unknown ? '' : correction}`, hint);
}

function helpOf(command: Command): string {
  return `Run ${['voxform', pathOf(command), '--help'].filter(Boolean).join(' ')}`;
}

function flagsOf(command: Command): string[] {
  const inherited = command.parent === null ? [] : flagsOf(command.parent);
  return [...command.options.flatMap(({ long }) => long ?? []), ...inherited];
}

/** Returns the hint for a word of another tool, unless the hint names a flag that the command does not have. */
function applicableHint(word: string, command: Command): string | undefined {
  const hint = hintForOtherTool(word, pathOf(command));
  if (hint === undefined || !word.startsWith('-')) return hint;
  const flags = flagsOf(command);
  return (hint.match(/--[a-z-]+/g) ?? []).every((flag) => flags.includes(flag)) ? hint : undefined;
}

/** Returns a hint with the possible values of the missing argument or flag that the message names. */
function missingValueHint(message: string, command: Command): string | undefined {
  const argument = command.registeredArguments.find((each) => message.includes(`required argument '${each.name()}'`));
  if (argument !== undefined) return `${argument.description}. `;
  const option = command.options.find(({ flags }) => message.includes(`required option '${flags}'`));
  return option?.argChoices === undefined ? undefined : `One of ${option.argChoices.join(', ')}. `;
}

/** Suggests `--target` for an address that was given as an argument. */
function targetHint(code: string, command: Command, operand = ''): string | undefined {
  const takesTarget = flagsOf(command).includes('--target') && parseAddress(operand) !== undefined;
  return code === 'commander.excessArguments' && takesTarget ? `Use --target ${operand}. ` : undefined;
}

/** Returns the flag as the user typed it: with one dash if it was typed with one. */
function spellingOf(flag: string, typed: readonly string[]): string {
  const single = flag.slice(1);
  const isTyped = (spelling: string) => typed.some((word) => word === spelling || word.startsWith(`${spelling}=`));
  return flag.startsWith('--') && !isTyped(flag) && isTyped(single) ? single : flag;
}

/**
 * Refuses a request for the help of an unknown command. The parser would print the help of the parent command instead.
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
  const hint = hintForOtherTool(name, pathOf(command));
  return usageError(
    `unknown command '${name}'${hint === undefined ? didYouMean(name, names) : ''}`,
    hint ?? `${helpOf(command)} to list the commands.`,
  );
}

/** Makes all flags and arguments with choices suggest the nearest choice for a misspelled value. */
export function suggestChoices(command: Command): void {
  for (const each of [...command.options, ...command.registeredArguments]) {
    if (each.argChoices !== undefined) checkChoices(each, each.argChoices);
  }
  for (const child of command.commands) suggestChoices(child);
}

type Choice = string | readonly string[];

function checkChoices(each: Option | Argument, choices: readonly string[]): void {
  const parse = (given: string, earlier: Choice | undefined): Choice => {
    const previous = Array.isArray(earlier) ? earlier : [];
    const items = each.variadic ? splitItems(given) : [given];
    const invalid = items.find((item) => !choices.includes(item));
    if (invalid === undefined) return each.variadic ? [...previous, ...items] : given;
    const suggestion = nearestCandidate(invalid, choices) === undefined ? '.' : didYouMean(invalid, choices);
    throw new InvalidArgumentError(`Expected one of ${choices.join(', ')}${suggestion}`);
  };
  if (each instanceof Argument) each.argParser<Choice>(parse);
  else each.argParser<Choice>(parse);
}

/** Rewrites a parser message in the style of voxform's messages. Omits surplus arguments, which may be secrets. */
function reword(message: string): string {
  return message
    .replace(/^error: /, '')
    .replace(/^(too many arguments .* but got \d+): .*/s, '$1.')
    .replace(/^command-argument /, '')
    .replace(/\n\(Did you mean (?:one of )?(.*)\?\)$/s, (_, words: string) =>
      didYouMeanOneOf(words.split(', ').map((word) => `"${word}"`)),
    );
}
