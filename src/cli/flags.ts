import path from 'node:path';
import { type Argument, type Command, InvalidArgumentError, Option } from 'commander';
import type { Kind, Lookup } from '../kinds/kind.ts';
import { isInside } from '../manifests/read-file.ts';
import { EXPECTED_ADDRESS, isGlob, parseAddress } from '../manifests/resource.ts';
import { type Role, roles } from '../operator/roles.ts';
import { type Concurrency, isConcurrency, MAX_CONCURRENCY } from '../platform/concurrency-limit.ts';
import { isRealDay, toMilliseconds } from '../platform/date-range.ts';
import { shellWord } from '../problems/shell-word.ts';
import { usageError } from '../problems/user-error.ts';
import type { PlanningOptions, Waiver } from '../runs/run-context.ts';
import { isObject, tryParseJson } from '../values/json.ts';
import type { Context } from './context.ts';

export interface WorkspacesFlags {
  readonly allWorkspaces?: boolean;
}

/** The flag of commands that print text or JSON. */
export interface JsonFlag {
  readonly output: 'text' | 'json';
}

/** The flag of commands that group identical results of several resources. */
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
      'Maximum number of requests in flight (default: limits.concurrency, auto)',
      parseConcurrency,
    )
    .option('--max-wait <duration>', 'Maximum Retry-After to honor (default: 5m)', parseSeconds);
}

export function withPlanning(command: Command): Command {
  return withRecreate(
    withReplace(
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

export function withReplace(command: Command): Command {
  return command.option('--allow-replace <address>', 'Allow replacing this resource (repeatable)', collectAddress);
}

/** Adds the flags for recreating missing records. Only interactive commands may have them, never `watch` or a fleet. */
function withRecreate(command: Command): Command {
  return command
    .option(
      '--allow-recreate <address>',
      'Create this resource again if its record is missing; "all" allows it for every resource (repeatable)',
      collectAddressOrAll,
    )
    .option('--even-if-all', 'With --allow-recreate all: allow it even if every record is missing');
}

/** Adds the flags of commands that change the platform. */
export function withGuards(command: Command): Command {
  return command
    .option('--allow-large-change', 'Exceed guards.max_changed_percent')
    .option('--allow-owner-change', 'Allow changing the roles of workspace owners')
    .option('--allow-older-commit', 'Apply manifests that are older than the last applied ones');
}

/** Adds the flags of commands that ask for approval. */
export function withApproval(command: Command): Command {
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
  return withOlderState(command.addOption(durationOption('--lock-timeout', 'How long to wait for the lock', '0s')));
}

export function apiKeyOption(): Option {
  return new Option(
    '--api-key-stdin',
    'Read the API key from stdin; manifests, the state and secret commands cannot access it',
  );
}

export function outputOption(formats: readonly string[], defaultFormat = 'text'): Option {
  return new Option('--output <format>', 'Output format').choices(formats).default(defaultFormat);
}

function parseConcurrency(text: string): Concurrency {
  const given = /^[1-9]\d*$/.test(text) ? Number(text) : text;
  if (isConcurrency(given)) return given;
  throw new InvalidArgumentError(`Expected auto or a whole number between 1 and ${MAX_CONCURRENCY}.`);
}

function integerParser(min: number, max: number, expected: string) {
  return (text: string): number => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= min && number <= max) return number;
    throw new InvalidArgumentError(expected);
  };
}

export const parsePositiveInteger = integerParser(1, 1_000_000, 'Expected a whole number of at least 1.');
export const parseWholeNumber = integerParser(0, 1_000_000, 'Expected a whole number.');
export const parsePort = integerParser(0, 65_535, 'Expected a port from 0 to 65535.');

export function durationOption(name: string, description: string, defaultText: string): Option {
  return new Option(`${name} <duration>`, description)
    .argParser(parseSeconds)
    .default(parseSeconds(defaultText), defaultText);
}

const SECONDS_PER_UNIT = { '': 1, s: 1, m: 60, h: 3600, d: 86_400 } as const;

/** Parses `90`, `90s`, `5m`, `1h` or `30d` as a number of seconds. */
export function parseSeconds(text: string): number {
  const match = /^(\d+(?:\.\d+)?)(s|m|h|d|)$/.exec(text);
  if (match === null) throw new InvalidArgumentError('Expected a duration such as 30s, 5m, 1h or 30d.');
  return Number(match[1]) * SECONDS_PER_UNIT[match[2] as keyof typeof SECONDS_PER_UNIT];
}

export function checkedAddress(text: string): string {
  if (parseAddress(text) === undefined) throw new InvalidArgumentError(EXPECTED_ADDRESS);
  return text;
}

/** Splits the text at commas, but not inside the braces of a glob. */
export function splitItems(text: string): string[] {
  return text.split(/,(?![^{]*\})/);
}

/** Creates a parser for a repeatable flag whose value is a list such as `a,b`. */
function itemCollector(parse: (item: string) => string) {
  return (text: string, earlier: readonly string[] | undefined): string[] => [
    ...(earlier ?? []),
    ...splitItems(text).map(parse),
  ];
}

export const collectItems = itemCollector(String);
export const collectAddress = itemCollector(checkedAddress);
const collectTarget = itemCollector((item) => (isGlob(item) ? item : checkedAddress(item)));
const collectAddressOrAll = itemCollector((item) => (item === 'all' ? item : checkedAddress(item)));

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

/** Returns true if the flag or argument splits its value at commas. */
export function splitsAtCommas({ variadic, argChoices, parseArg }: Argument | Option): boolean {
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

/** Refuses the empty text that an unset shell variable leaves. */
export function parseText(text: string): string {
  if (text !== '') return text;
  throw new InvalidArgumentError('Expected a text that is not empty.');
}

export function parseJsonObject(text: string): Record<string, unknown> {
  const value = tryParseJson(text);
  if (isObject(value)) return { ...value };
  throw new InvalidArgumentError('Expected a JSON object.');
}

const DATE_OR_TIME =
  /^\d{4}-\d\d-\d\d(?:[T ](?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?(?:Z|[+-](?:[01]\d|2[0-3]):?[0-5]\d)?)?$/;

/**
 * Returns the text unchanged if it is a valid date or date-time.
 * @throws InvalidArgumentError
 */
export function checkedDateOrTime(text: string): string {
  if (DATE_OR_TIME.test(text) && isRealDay(text)) return text;
  throw new InvalidArgumentError('Expected a date such as 2026-01-31, or a time such as 2026-01-31T09:30:00Z.');
}

export interface PageFlags {
  readonly listen?: string;
  readonly listenHost?: readonly string[];
  readonly trustProxy?: readonly string[];
  readonly trustUserHeader?: string;
  readonly trustedRole: Role;
}

/** @param endpoints the other paths that the listener serves. */
export function withPage(command: Command, endpoints: string): Command {
  return command
    .option('--listen <address>', `Serve the page, ${endpoints} on HOST:PORT`)
    .option('--listen-host <name>', 'Additional host name to accept in requests (repeatable)', collectText)
    .option(
      '--trust-proxy <cidr>',
      'Network of proxies whose X-Forwarded headers are trusted (repeatable)',
      collectText,
    )
    .option('--trust-user-header <name>', 'Header in which these proxies name the signed-in user')
    .addOption(
      new Option('--trusted-role <role>', 'Role of the users that the proxy names').choices(roles).default('viewer'),
    );
}

export interface PolicyFlags {
  readonly policy?: readonly string[];
}

export interface WaiverFlags {
  readonly waive?: readonly string[];
  readonly because?: string;
}

export function withPolicies(command: Command): Command {
  return command.option(
    '--policy <file>',
    'Apply the policies in this file in addition to those of the project (repeatable)',
    collectText,
  );
}

export function withWaiver(command: Command): Command {
  return withPolicies(command)
    .option('--waive <rule>', 'Waive a policy for the changes that it denies in this plan (repeatable)', collectItems)
    .option('--because <text>', 'Reason, for the history; required with --waive');
}

/** Returns the `-C` with which the person reaches a folder from the start folder, after a space; empty if they are in it. */
export function chdirFlag(folder: string, { cwd, startFolder }: Pick<Context, 'cwd' | 'startFolder'>): string {
  const shown = path.isAbsolute(folder) ? folder : path.relative(startFolder, path.resolve(cwd, folder));
  return shown === '' ? '' : ` -C ${shellWord(shown)}`;
}

/** Adds the policy files of the command line to the context. */
export function withPolicyFiles<C extends Context>(context: C, { policy = [] }: PolicyFlags): C {
  if (policy.length === 0) return context;
  const { cwd, startFolder, projectFolder = cwd } = context;
  // Paths are relative to the start folder and not to `-C`, because a repository must not choose its own policies.
  const paths = new Set(policy.map((name) => path.resolve(startFolder, name)));
  const files = [...paths].map((absolute) => {
    // Diagnostics name files relative to the project folder.
    const file = isInside(absolute, projectFolder) ? path.relative(projectFolder, absolute) : absolute;
    return { path: absolute, file: file.replaceAll(path.sep, '/') };
  });
  return { ...context, policies: { ...context.policies, files } };
}

/** @throws UserError if only one of `--waive` and `--because` is given. */
export function waiverOf({ waive = [], because }: WaiverFlags): Waiver | undefined {
  if (waive.length > 0 && (because ?? '').trim() === '') {
    throw usageError('--waive needs --because TEXT', 'The reason is kept in the history.');
  }
  if (waive.length === 0 && because !== undefined) throw usageError('--because needs --waive RULE');
  return waive.length === 0 ? undefined : { rules: [...new Set(waive)], because: because ?? '' };
}

/** The flags of commands that discover records. Each kind that the API cannot list adds flags for ids. */
export interface DiscoveryFlags {
  /** The earliest date of calls to read. */
  readonly callsFrom?: Date;
  readonly [flag: string]: unknown;
}

export interface DiscoverySummary {
  /** The record types that the API lists, such as `numbers`. */
  readonly listed: readonly string[];
  /** The kinds that are discovered through references in other records. */
  readonly mentioned: readonly string[];
  /** The types of records that contain these references. */
  readonly sources: readonly string[];
}

/** Adds the discovery flags to a command, and sets its description if `describe` is given. */
export async function withDiscovery(
  command: Command,
  describe?: (discovery: DiscoverySummary) => string,
): Promise<void> {
  const { kinds, lookups } = await import('../kinds/index.ts');
  const all = [...kinds.values()];
  const mentioned = all.filter(({ mentions }) => mentions !== undefined);
  const description = describe?.({
    listed: [...all.filter(({ list }) => list !== undefined), ...lookups.values()].map(pluralOf),
    mentioned: mentioned.map(pluralOf),
    sources: mentioned.flatMap(({ mentions = [] }) => mentions.map(({ name }) => name)),
  });
  if (description !== undefined) command.description(description);
  for (const { table, mentions } of all.filter(({ list }) => list === undefined)) {
    const [first = '', ...rest] = table.name;
    const idsHelp =
      mentions === undefined
        ? `${first.toUpperCase()}${rest.join('')} to read; the API cannot list them`
        : `Additional ${table.name} to read`;
    command.option(`--${table.name} <id...>`, idsHelp);
    command.option(`--${table.name}-from <file>`, 'File of ids, one per line');
  }
  command.option(
    '--calls-from <date>',
    `Search for ${kindsInCalls(kinds)} only in calls from this date on (default: all calls)`,
    parseDate,
  );
}

/** Returns the plural of a kind in words, such as `knowledge bases`. */
function pluralOf({ table }: Kind | Lookup): string {
  return table.name.replaceAll('-', ' ');
}

/** Joins names into text such as `numbers, users and calls`. */
export function joinNames(names: readonly string[]): string {
  return names.join(', ').replace(/, ([^,]*)$/, ' and $1');
}

/** Returns the plurals of the kinds that are discovered through calls. */
export function kindsInCalls(kinds: ReadonlyMap<string, Kind>): string {
  return [...kinds.values()]
    .filter(({ mentions = [] }) => mentions.some(({ name }) => name === 'calls'))
    .map(({ table }) => table.name)
    .join(' and ');
}

/** The default of `callsFrom`. */
export const ALL_CALLS = new Date(0);

export function parseDate(text: string): Date {
  return new Date(toMilliseconds(checkedDateOrTime(text)));
}
