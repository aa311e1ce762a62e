import { type Command, InvalidArgumentError, Option } from 'commander';
import { attempt } from '../../problems/attempt.ts';
import type { CommandTable } from '../context.ts';
import {
  checkedAddress,
  checkedDateOrTime,
  collectAddress,
  collectText,
  outputOption,
  parsePositiveInteger,
  withFull,
  withPlatform,
} from '../flags.ts';

/** Commands that compare versions or restore values. */
export const restoreCommands = {
  diff: {
    summary: 'Compare two workspaces',
    traits: { acceptsWorkspaces: true },
    define: (command, perform) =>
      withFull(withPlatform(command))
        .description(
          'Compare the managed fields of two workspaces. Marks the differences that the manifests declare. Changes nothing.',
        )
        .argument('[workspaces...]', 'The two workspaces, unless -w names them')
        .addOption(outputOption(['text', 'json', 'markdown']))
        .option('--detailed-exitcode', 'Exit with 2 when there are undeclared differences')
        .action(perform(async () => (await import('../actions/diff.ts')).diff)),
  },
  accept: {
    summary: 'Write drift back into the manifests',
    define: (command, perform) =>
      withWriteBack(withPlatform(command))
        .description(
          'Write drift back into the manifests: each value that changed on the platform is written to the file that sets it. Shows the diff first, and the changes that cannot be written back. Writes nothing to the platform.',
        )
        .argument('[address...]', 'Only these resources (default: all with drift)', collectAddress)
        .option('--pull-request', 'Open, update or close the pull request of the workspace instead of writing files')
        .action(perform(async () => (await import('../actions/write-back.ts')).accept)),
  },
  versions: {
    summary: 'Show published versions',
    define: (command, perform) =>
      withPlatform(command)
        .description(
          'List the published versions of a resource, show one, or compare two. With --diff published, show what publishing the draft would change.',
        )
        .argument('<address>', 'Address, e.g. Agent/support-line', checkedAddress)
        .argument('[version]', 'Version to show', parsePositiveInteger)
        .option(
          '--diff <version>',
          'Compare with this version; "published" compares the draft with the latest version',
          versionOrPublished,
        )
        .addOption(outputOption(['text', 'json', 'markdown']))
        .option('--detailed-exitcode', 'With --diff published, exit with 2 when publishing would change something')
        .action(perform(async () => (await import('../actions/versions.ts')).versions)),
  },
  impact: {
    summary: 'Compare the calls of published versions',
    define: (command, perform) =>
      withPlatform(command)
        .description(
          'Show the effect of each published version of an agent on its calls: shares of outcomes, medians, and the difference between two versions with its 95% interval. Reads all calls once.',
        )
        .argument('<address>', 'Address, e.g. Agent/support-line', checkedAddress)
        .option('--since <date>', 'Only calls that began at or after this date or time, in UTC', checkedDateOrTime)
        .option('--compare <versions>', 'Versions to compare, e.g. 3..5 (default: the two newest)', versionPair)
        .addOption(
          new Option('--direction <direction>', 'Only calls with this direction').choices(['inbound', 'outbound']),
        )
        .option('--channel <channel>', 'Only calls with this channel_type, e.g. sms')
        .option(
          '--fail-if <condition>',
          'Exit with 2 when the interval of a difference lies beyond a limit, e.g. "session_outcome=escalated>+5%" (repeatable)',
          collectText,
        )
        .option('--detailed-exitcode', 'Exit with 2 when a condition of --fail-if is met', true)
        .option('--no-detailed-exitcode', 'Exit with 0 when a condition is met, and only print a warning')
        .addOption(outputOption(['text', 'json', 'html']))
        .action(perform(async () => (await import('../actions/impact.ts')).impact)),
  },
  rollback: {
    summary: 'Write a published version into the manifests',
    define: (command, perform) => {
      const rollback = withPlatform(command)
        .description(
          'Write the values of a published version into the manifests, for the next apply to restore. Changes managed fields only. Writes nothing to the platform.',
        )
        .argument('<address>', 'Address, e.g. Agent/support-line', checkedAddress)
        .option(
          '--to <version>',
          'Published version (default: list the versions and suggest the one before the latest)',
          parsePositiveInteger,
        );
      withWriteBack(rollback).action(perform(async () => (await import('../actions/versions.ts')).rollback));
    },
  },
} satisfies CommandTable;

function versionPair(text: string): readonly [number, number] {
  const [, from, to] = /^(\d+)\.\.(\d+)$/.exec(text) ?? [];
  if (from === undefined || to === undefined || Number(from) === Number(to))
    throw new InvalidArgumentError('Expected two versions, such as 3..5.');
  return [parsePositiveInteger(from), parsePositiveInteger(to)];
}

/** Adds the flags of commands that write values from the platform into the manifests. */
function withWriteBack(command: Command): Command {
  return command
    .option('--dry-run', 'Show the diff and write nothing')
    .option('--auto-approve', 'Skip the approval prompt')
    .addOption(outputOption(['text', 'json']));
}

function versionOrPublished(text: string): number | 'published' {
  if (text === 'published') return text;
  const version = attempt(() => parsePositiveInteger(text));
  if (version !== undefined) return version;
  throw new InvalidArgumentError('Expected published or a whole number of at least 1.');
}
