import { type Argument, type Command, InvalidArgumentError, Option } from 'commander';
import { EXPECTED_ADDRESS, isGlob, parseAddress } from '../manifests/resource.ts';
import { type Concurrency, isConcurrency, MAX_CONCURRENCY } from '../platform/concurrency-limit.ts';
import type { PlanningOptions } from '../runs/run-context.ts';
import { isObject, parsedJson } from '../values/json.ts';

export interface WorkspacesFlags {
  readonly allWorkspaces?: boolean;
}

/** For commands that print text or JSON. */
export interface JsonFlag {
  readonly output: 'text' | 'json';
}

/** For commands whose results are shown once for many resources. */
export interface FullFlag {
  readonly full?: boolean | undefined;
}

export interface PlanFlags extends PlanningOptions, FullFlag {
  readonly strict?: boolean;
}

export function withSelection(command: Command): Command {
  return command
    .option(
      '--target <address>',
      'Only this resource, or those matching a glob such as Agent/support-*, and their references (repeatable)',
      collectTarget,
    )
    .option('--selector <labels>', 'Only resources with these labels: key=value,key=value', parseLabels);
}

export function withPlatform(command: Command): Command {
  return command
    .option(
      '--concurrency <n|auto>',
      'Requests in flight at once (default: limits.concurrency, auto)',
      parseConcurrency,
    )
    .option('--max-wait <duration>', 'Longest Retry-After to obey (default: 5m)', parseSeconds);
}

export function withPlanning(command: Command): Command {
  return withRecreating(
    withReplacing(
      withPlatform(withSelection(command)).option(
        '--no-refresh',
        'Compare with the state instead of reading managed records',
      ),
    ),
  )
    .option('--retry-ignored', 'Resend fields that the platform did not apply')
    .option('--strict', 'Exit with 1 when a resource is manual, blocked, unknown or not applied');
}

export function withFull(command: Command): Command {
  return command.option('--full', 'Show identical changes, warnings and imports for every resource');
}

export function withReplacing(command: Command): Command {
  return command.option('--allow-replace <address>', 'Allow replacing this resource (repeatable)', collectAddress);
}

/** The flags that recreate missing records: for a person, never for a loop. */
function withRecreating(command: Command): Command {
  return command
    .option(
      '--allow-recreate <address>',
      'Create this resource again if its record is missing; "all" for every one (repeatable)',
      collectAddressOrAll,
    )
    .option('--even-if-all', 'With --allow-recreate all: even if every record is missing');
}

/** The flags of commands that change the platform. */
export function withGuards(command: Command): Command {
  return command
    .option('--allow-large-change', 'Exceed guards.max_changed_percent')
    .option('--allow-owner-change', 'Allow changing the roles of workspace owners')
    .option('--allow-older-commit', 'Apply manifests older than those applied last');
}

/** The flags of commands that ask for approval. */
export function withApplying(command: Command): Command {
  return withGuards(command.option('--auto-approve', 'Skip the approval prompt')).addOption(
    new Option('--on-error <mode>', 'After a failure, continue with independent resources, or stop')
      .choices(['continue', 'stop'])
      .default('continue'),
  );
}

export function withOlderState(command: Command): Command {
  return command.option('--allow-older-state', 'Write even if a newer copy of the state is known');
}

export function withLock(command: Command): Command {
  return withOlderState(command.addOption(duration('--lock-timeout', 'How long to wait for the lock', '0s')));
}

export function outputOption(formats: readonly string[], standard = 'text'): Option {
  return new Option('--output <format>', 'Output format').choices(formats).default(standard);
}

function parseConcurrency(text: string): Concurrency {
  const given = /^[1-9]\d*$/.test(text) ? Number(text) : text;
  if (isConcurrency(given)) return given;
  throw new InvalidArgumentError(`Expected auto or a whole number between 1 and ${MAX_CONCURRENCY}.`);
}

function integer(least: number, most: number, expected: string) {
  return (text: string): number => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= least && number <= most) return number;
    throw new InvalidArgumentError(expected);
  };
}

export const positiveInteger = integer(1, 1_000_000, 'Expected a whole number of at least 1.');
export const wholeNumber = integer(0, 1_000_000, 'Expected a whole number.');
export const parsePort = integer(0, 65_535, 'Expected a port from 0 to 65535.');

export function duration(name: string, description: string, standard: string): Option {
  return new Option(`${name} <duration>`, description)
    .argParser(parseSeconds)
    .default(parseSeconds(standard), standard);
}

const SECONDS = { '': 1, s: 1, m: 60, h: 3600, d: 86_400 } as const;

/** Parses `90`, `90s`, `5m`, `1h` or `30d` to seconds. */
export function parseSeconds(text: string): number {
  const match = /^(\d+(?:\.\d+)?)(s|m|h|d|)$/.exec(text);
  if (match === null) throw new InvalidArgumentError('Expected a duration such as 30s, 5m, 1h or 30d.');
  return Number(match[1]) * SECONDS[match[2] as keyof typeof SECONDS];
}

export function address(text: string): string {
  if (parseAddress(text) === undefined) throw new InvalidArgumentError(EXPECTED_ADDRESS);
  return text;
}

/** Splits `a,b`, except at commas inside the braces of a glob. */
export function itemsOf(text: string): string[] {
  return text.split(/,(?![^{]*\})/);
}

/** For repeatable flags that take `a,b`. */
function collecting(parse: (item: string) => string) {
  return (text: string, earlier: readonly string[] | undefined): string[] => [
    ...(earlier ?? []),
    ...itemsOf(text).map(parse),
  ];
}

export const collectItems = collecting(String);
export const collectAddress = collecting(address);
const collectTarget = collecting((item) => (isGlob(item) ? item : address(item)));
const collectAddressOrAll = collecting((item) => (item === 'all' ? item : address(item)));

export function collectText(text: string, earlier: readonly string[] | undefined): string[] {
  return [...(earlier ?? []), text];
}

const collectors: ReadonlySet<unknown> = new Set([
  collectAddress,
  collectTarget,
  collectAddressOrAll,
  collectItems,
  collectText,
]);

/** True if `a,b` gives two values. */
export function takesItems({ variadic, argChoices, parseArg }: Argument | Option): boolean {
  const hasItems = parseArg !== collectText && collectors.has(parseArg);
  return hasItems || (variadic && argChoices !== undefined);
}

export function isRepeatable({ variadic, parseArg }: Option): boolean {
  return variadic || collectors.has(parseArg);
}

export function withWorkspaces(command: Command): Command {
  return command.option('--all-workspaces', 'All workspaces of the project, in one report');
}

function parseLabels(text: string, earlier: Readonly<Record<string, string>> | undefined): Record<string, string> {
  const pairs = text.split(',').map((pair): [string, string] => {
    const match = /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/.exec(pair);
    if (match === null) throw new InvalidArgumentError('Expected labels such as team=support,tier=gold.');
    return [match[1] as string, match[2] as string];
  });
  return { ...earlier, ...Object.fromEntries(pairs) };
}

export function jsonObject(text: string): Record<string, unknown> {
  const value = parsedJson(text);
  if (isObject(value)) return { ...value };
  throw new InvalidArgumentError('Expected a JSON object.');
}

const DATE_OR_MOMENT =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/;

/**
 * The text itself, if it is a valid date or date-time: `Date.parse` accepts the 31st of February.
 * @throws InvalidArgumentError
 */
export function dateOrMoment(text: string): string {
  const [, year, month, day] = DATE_OR_MOMENT.exec(text) ?? [];
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  if (date.getUTCMonth() + 1 !== Number(month) || date.getUTCDate() !== Number(day)) {
    throw new InvalidArgumentError('Expected a date such as 2026-01-31, or a time such as 2026-01-31T09:30:00Z.');
  }
  return text;
}
