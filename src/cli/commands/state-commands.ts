import { Option } from 'commander';
import type { CommandTable } from '../context.ts';
import {
  checkedAddress,
  checkedDateOrTime,
  collectAddress,
  type DiscoverySummary,
  joinNames,
  outputOption,
  parsePositiveInteger,
  withDiscovery,
  withLock,
  withPlatform,
} from '../flags.ts';

const ADDRESS = 'Address, e.g. Agent/support-line';

/** Commands that read or change the state, its history and its orphans. */
export const stateCommands = {
  state: {
    summary: 'Inspect and edit the state',
    define: (state, perform) => {
      state.description(
        'Inspect and edit the state of a workspace: the record of each address, and the values last applied.',
      );
      state
        .command('list')
        .description('List the addresses in the state, with their ids.')
        .addOption(outputOption(['text', 'json']))
        .action(perform(async () => (await import('../actions/manage-state.ts')).listState));
      state
        .command('show')
        .description('Show the state entry of one address, as JSON.')
        .argument('<address>', ADDRESS, checkedAddress)
        .action(perform(async () => (await import('../actions/manage-state.ts')).showState));
      withLock(state.command('resolve'))
        .description(
          'Resolve unknown creates: creates without a response. Check the dashboard first. If the record exists, run voxform import ADDRESS ID instead.',
        )
        .argument('[address...]', ADDRESS, collectAddress)
        .requiredOption('--not-created', 'Confirm that the records do not exist')
        .option('--all', 'All unknown creates, with one approval prompt')
        .option(
          '--since <time>',
          'With --all: only creates sent at this date or time, in UTC, or later',
          checkedDateOrTime,
        )
        .option('--auto-approve', 'Skip the approval prompt')
        .action(perform(async () => (await import('../actions/state-resolve.ts')).resolvePending));
      withLock(state.command('mv'))
        .description(
          'Rename an address; the record stays the same. To rename from the manifests, use metadata.previous_names.',
        )
        .argument('<from>', ADDRESS, checkedAddress)
        .argument('<to>', 'New address, of the same kind', checkedAddress)
        .action(perform(async () => (await import('../actions/manage-state.ts')).moveInState));
      withLock(state.command('rm'))
        .description('Release resources from management. Their records stay on the platform and go on the orphan list.')
        .argument('<address...>', ADDRESS, collectAddress)
        .action(perform(async () => (await import('../actions/manage-state.ts')).removeFromState));
      state
        .command('pull')
        .description('Print the state as JSON.')
        .option('--sealed', 'Print the state as an age file for the recipients of state.seal')
        .action(perform(async () => (await import('../actions/manage-state.ts')).pullState));
      withLock(state.command('push'))
        .description(
          'Replace the state with a file. Resources missing from the file are no longer managed, and their records go on the orphan list. The old state is kept as a backup.',
        )
        .argument('<file>', 'Output of voxform state pull')
        .option(
          '--force',
          'Also replace a newer state, or a state of another lineage; records missing from the file are forgotten, not listed as orphans',
        )
        .action(perform(async () => (await import('../actions/manage-state.ts')).pushStateFile));
      withLock(state.command('move'))
        .description(
          'Move a state to the location that voxform.yaml configures. Use this command after renaming the workspace or changing its state settings. The old location keeps a pointer to the new one. Run it again to finish an interrupted move.',
        )
        .requiredOption(
          '--from <location>',
          'State file, "local" for the default file of this workspace, or settings such as \'{ backend: local, path: old.state.json }\'',
        )
        .action(perform(async () => (await import('../actions/manage-state.ts')).moveStateHere));
      withLock(state.command('init'))
        .description(
          'Create an empty state even though another state of this workspace exists. The next apply creates records again if they are only in the other state.',
        )
        .option('--sql', 'Print the SQL that an administrator runs to set up a database, and change nothing')
        .action(perform(async () => (await import('../actions/manage-state.ts')).initState));
      withLock(state.command('seal'))
        .description(
          'Encrypt the state for the recipients of state.seal, with its backups and its history. Run it again after the recipients change.',
        )
        .action(perform(async () => (await import('../actions/manage-state.ts')).sealState));
      withLock(state.command('unseal'))
        .description(
          'Decrypt a sealed state, with its backups and its history. Then remove state.seal from voxform.yaml.',
        )
        .action(perform(async () => (await import('../actions/manage-state.ts')).unsealState));
      withLock(state.command('rescue'))
        .description(
          'Record the ids of a rescue file in the state. A run writes this file if it cannot store its changes in the state. The next run in the same project folder records the ids automatically.',
        )
        .argument('<file>', 'Rescue file that the run printed, .voxform/rescue/ID.jsonl')
        .action(perform(async () => (await import('../actions/manage-state.ts')).rescueState));
      state
        .command('unlock')
        .description('Release a lock whose holder is no longer running. A refused run prints the id of the lock.')
        .argument('<id>', 'Id of the lock, or at least its first 8 characters')
        .action(perform(async () => (await import('../actions/manage-state.ts')).unlockState));
    },
  },
  history: {
    summary: 'List the runs that changed the state',
    define: (history, perform) => {
      history
        .description(
          'List the runs that locked the state, the newest first: who ran which command, from which commit, and what it changed. The history is stored with the state and contains no values of fields.',
        )
        .argument('[address]', 'Only runs that changed this resource', checkedAddress)
        .option('-n, --number <count>', 'Maximum number of runs', parsePositiveInteger, 20)
        .option('--since <time>', 'Only runs since this date or time, in UTC', checkedDateOrTime)
        .addOption(outputOption(['text', 'json', 'jsonl']))
        .action(perform(async () => (await import('../actions/history.ts')).history));
      history
        .command('show')
        .description('Show all details of one run.')
        .argument('<run>', 'Id of the run, or a prefix of it')
        .addOption(outputOption(['text', 'json']))
        .action(perform(async () => (await import('../actions/history.ts')).showRun));
    },
  },
  orphans: {
    summary: 'List and close records no longer managed',
    define: (orphans, perform) => {
      withLock(withPlatform(orphans))
        .description(
          'List the records that voxform released and that may still exist. The API cannot delete: delete them in the dashboard, then close them here.',
        )
        .addOption(outputOption(['text', 'json']))
        .option('--all', 'Include closed orphans')
        .option('--check', 'Check which orphans still exist, and close those that are missing')
        .action(perform(async () => (await import('../actions/orphans.ts')).orphans));
      withLock(orphans.command('close'))
        .description(
          'Close orphans that need no more work. An orphan closed as handed-over or kept is managed again only by voxform import.',
        )
        .argument('[ids...]', 'Ids of the records, or their former addresses, such as Agent/support-*')
        .option('--all', 'Close all open orphans')
        .addOption(
          new Option('--because <reason>', 'Reason for closing them')
            .choices(['deleted', 'handed-over', 'kept'])
            .makeOptionMandatory(),
        )
        .action(perform(async () => (await import('../actions/orphans.ts')).closeOrphans));
    },
  },
  recover: {
    summary: 'Rebuild a lost state',
    define: async (command, perform) => {
      withPlatform(withLock(command))
        .addOption(outputOption(['text', 'json']))
        .option('--auto', 'Import only certain matches: all visible fields agree and no other record fits')
        .option('--auto-approve', 'Skip the approval prompt')
        .action(perform(async () => (await import('../actions/recover.ts')).recover));
      await withDiscovery(command, recoverDescription);
    },
  },
} satisfies CommandTable;

function recoverDescription({ sources }: DiscoverySummary): string {
  return `Rebuild a lost or incomplete state. Finds the record of each manifest through ${joinNames([...sources, 'backups of the state'])}, shows the evidence, and asks before each import. Changes nothing on the platform.`;
}
