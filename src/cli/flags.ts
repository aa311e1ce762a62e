import { type Command, InvalidArgumentError, Option } from 'commander';
import { isGlob, parseAddress } from '../manifests/resource.ts';
import type { LockOptions, PlanningOptions, PlatformOptions, SelectionOptions } from '../runs/run-options.ts';

export type SelectionFlags = SelectionOptions;
export type PlatformFlags = PlatformOptions;
export type LockFlags = LockOptions;

export interface WorkspacesFlags {
  readonly allWorkspaces?: boolean;
}

/** Of commands whose results say once what many resources share. */
export interface FullFlag {
  readonly full?: boolean | undefined;
}

/** The flags of plan and apply. */
export interface PlanFlags extends PlanningOptions, FullFlag {
  readonly strict?: boolean;
}

export function withSelection(command: Command): Command {
  return command
    .option(
      '--target <address>',
      'only this resource, or those that a glob such as Agent/support-* matches, and what they refer to (repeatable)',
      collectTarget,
    )
    .option('--selector <labels>', 'only resources with these labels, as key=value,key=value', parseLabels);
}

export function withPlatform(command: Command): Command {
  return command
    .option('--concurrency <n>', 'requests at once (default: limits.concurrency, 16)', positiveInteger)
    .option(
      '--max-wait <duration>',
      'longest pause that the platform may ask for (default: 5m)',
      parseSeconds,
    );
}

export function withPlanning(command: Command): Command {
  return withRecreating(
    withReplacing(
      withPlatform(withSelection(command)).option(
        '--no-refresh',
        'compare with what the state remembers instead of reading recorded records',
      ),
    ),
  )
    .option('--retry-ignored', 'send again the fields that the platform did not apply')
    .option('--strict', 'exit with 1 when something is manual, blocked, unknown or not applied');
}

export function withFull(command: Command): Command {
  return command.option('--full', 'list identical changes, warnings and adoptions for each resource');
}

export function withReplacing(command: Command): Command {
  return command.option(
    '--allow-replace <address>',
    'let this resource be replaced (repeatable)',
    collectAddress,
  );
}

/** The flags that make other records in the place of missing ones: for a person, never for a loop. */
export function withRecreating(command: Command): Command {
  return command
    .option(
      '--allow-recreate <address>',
      'create this resource again whose record is missing, or all of them (repeatable)',
      collectAddressOrAll,
    )
    .option('--even-if-all', 'with --allow-recreate all: also where every record that was read is missing');
}

/** The flags of commands that change what the platform has. */
export function withGuards(command: Command): Command {
  return command
    .option('--allow-large-change', 'lift the guard on the share of resources that one run may change')
    .option('--allow-owner-change', 'lift the guard on the roles of workspace owners');
}

/** The flags of commands that ask before they do so, once. */
export function withApplying(command: Command): Command {
  return withGuards(command.option('--auto-approve', 'do not ask')).addOption(
    new Option(
      '--on-error <mode>',
      'after a failure, go on with what does not depend on it, or start nothing new',
    )
      .choices(['continue', 'stop'])
      .default('continue'),
  );
}

/** For commands that write the state. */
export function withOlderState(command: Command): Command {
  return command.option(
    '--allow-older-state',
    'write although a newer copy of the state, or a later write of it on this machine, is known',
  );
}

export function withLock(command: Command): Command {
  return withOlderState(
    command.option(
      '--lock-timeout <duration>',
      'how long to wait for another run that holds the state',
      parseSeconds,
      0,
    ),
  );
}

export function outputOption(formats: readonly string[]): Option {
  return new Option('--output <format>', 'form of the result').choices(formats).default('text');
}

export function positiveInteger(text: string): number {
  const number = Number(text);
  if (!/^\d+$/.test(text) || number < 1 || number > 1_000_000) {
    throw new InvalidArgumentError('Expected a whole number from 1.');
  }
  return number;
}

export function wholeNumber(text: string): number {
  const number = Number(text);
  if (!/^\d+$/.test(text) || number > 1_000_000) throw new InvalidArgumentError('Expected a whole number.');
  return number;
}

export function parsePort(text: string): number {
  const number = Number(text);
  if (!/^\d+$/.test(text) || number > 65_535) throw new InvalidArgumentError('Expected a port, 0 to 65535.');
  return number;
}

const SECONDS = { '': 1, s: 1, m: 60, h: 3600 } as const;

/** Seconds of `90`, `90s`, `5m` or `1h`. */
export function parseSeconds(text: string): number {
  const match = /^(\d+(?:\.\d+)?)(s|m|h|)$/.exec(text);
  if (match === null) throw new InvalidArgumentError('Expected a duration such as 30s, 5m or 1h.');
  return Number(match[1]) * SECONDS[match[2] as keyof typeof SECONDS];
}

export function address(text: string): string {
  if (parseAddress(text) === undefined) {
    throw new InvalidArgumentError('Expected an address, Kind/name, such as Agent/support-line.');
  }
  return text;
}

/** For arguments and flags that may stand there several times. */
export function collectAddress(text: string, earlier: readonly string[] | undefined): string[] {
  return [...(earlier ?? []), address(text)];
}

/** An address, or a glob of addresses. */
function collectTarget(text: string, earlier: readonly string[] | undefined): string[] {
  return isGlob(text) ? [...(earlier ?? []), text] : collectAddress(text, earlier);
}

function collectAddressOrAll(text: string, earlier: readonly string[] | undefined): string[] {
  return text === 'all' ? [...(earlier ?? []), text] : collectAddress(text, earlier);
}

/** For flags with any text that may stand there several times. */
export function collectText(text: string, earlier: readonly string[] | undefined): string[] {
  return [...(earlier ?? []), text];
}

/** For a command that takes several workspaces. */
export function withWorkspaces(command: Command): Command {
  return command.option('--all-workspaces', 'every workspace of the project, in one report');
}

function parseLabels(
  text: string,
  earlier: Readonly<Record<string, string>> | undefined,
): Record<string, string> {
  const pairs = text.split(',').map((pair): [string, string] => {
    const match = /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/.exec(pair);
    if (match === null) throw new InvalidArgumentError('Expected labels such as team=support,tier=gold.');
    return [match[1] as string, match[2] as string];
  });
  return { ...earlier, ...Object.fromEntries(pairs) };
}

/** A JSON object given on the command line. */
export function jsonObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  } catch {
    // Said below, like everything else that is no object.
  }
  throw new InvalidArgumentError('Expected a JSON object.');
}
