import type { Command } from 'commander';
import { address, collectAddress, outputOption, positiveInteger, withFull, withPlatform } from '../flags.ts';
import type { Perform } from '../perform.ts';

/** What compares, and what brings values back. */
export function defineRestore(program: Command, perform: Perform): void {
  withFull(withPlatform(program.command('diff')))
    .summary('Compare two workspaces')
    .description(
      'Compare the managed fields of two workspaces. Marks the differences that the manifests declare. Changes nothing.',
    )
    .argument('[workspaces...]', 'The two workspaces; -w names them too')
    .addOption(outputOption(['text', 'json', 'markdown']))
    .option('--detailed-exitcode', 'Exit with 2 when there are undeclared differences')
    .action(perform(async () => (await import('../actions/diff.ts')).diff, { severalWorkspaces: true }));

  withWriteBack(withPlatform(program.command('accept')))
    .summary('Write drift back into the manifests')
    .description(
      'Write drift back into the manifests: each value that changed on the platform, in the file that sets it. Shows the diff first, and the changes that cannot be written back. Writes nothing to the platform.',
    )
    .argument('[address...]', 'Only these resources (default: all that drifted)', collectAddress)
    .action(perform(async () => (await import('../actions/accept.ts')).accept));

  withPlatform(program.command('versions'))
    .summary('Show published versions')
    .description('List the published versions of a resource, show one, or compare two.')
    .argument('<address>', 'Address, e.g. Agent/support-line', address)
    .argument('[version]', 'Version to show', positiveInteger)
    .option('--diff <version>', 'Compare with this version', positiveInteger)
    .addOption(outputOption(['text', 'json']))
    .action(perform(async () => (await import('../actions/versions.ts')).versions));

  const rollback = withPlatform(program.command('rollback'))
    .summary('Write a published version into the manifests')
    .description(
      'Write the values of a published version into the manifests, for the next apply to restore. Changes managed fields only. Writes nothing to the platform.',
    )
    .argument('<address>', 'Address, e.g. Agent/support-line', address)
    .requiredOption('--to <version>', 'Published version', positiveInteger);
  withWriteBack(rollback).action(perform(async () => (await import('../actions/versions.ts')).rollback));
}

/** The flags of commands that write values of the platform into the manifests. */
function withWriteBack(command: Command): Command {
  return command
    .option('--dry-run', 'Show the diff and write nothing')
    .option('--auto-approve', 'Skip the approval prompt')
    .addOption(outputOption(['text', 'json']));
}
