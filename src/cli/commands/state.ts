import type { Command } from 'commander';
import type { StateOutput } from '../actions/state.ts';
import type { PushFlags } from '../actions/state-edits.ts';
import type { InitFlags, MoveFlags } from '../actions/state-move.ts';
import type { ResolveOptions } from '../actions/state-resolve.ts';
import type { Start } from '../context.ts';
import { dateOrMoment } from '../dates.ts';
import { address as addressArgument, type LockFlags, outputOption, withLock } from '../flags.ts';

export function defineState(program: Command, start: Start): void {
  const state = program
    .command('state')
    .summary('Inspect and edit the state')
    .description(
      'Inspect and edit the state of a workspace: the record of each address, and the values last applied.',
    );

  state
    .command('list')
    .summary('List addresses and ids')
    .description('List the addresses in the state, with their ids.')
    .addOption(outputOption(['text', 'json']))
    .action((options: StateOutput) =>
      start(async (context) => (await import('../actions/state.ts')).listState(context, options)),
    );
  state
    .command('show')
    .summary('Show one resource')
    .description('Show what the state holds about one resource, as JSON.')
    .argument('<address>', 'Address, e.g. Agent/support-line', addressArgument)
    .action((address: string) =>
      start(async (context) => (await import('../actions/state.ts')).showState(context, address)),
    );
  withLock(state.command('resolve'))
    .summary('Resolve unknown creates')
    .description(
      'Resolve unknown creates: those whose answer was lost. Check the dashboard first. If the record exists, run voxform import ADDRESS ID instead.',
    )
    .argument('[address...]', 'Address, e.g. Agent/support-line')
    .requiredOption('--not-created', 'Confirm that the records do not exist')
    .option('--all', 'All unknown creates, with one approval prompt')
    .option('--since <time>', 'With --all: only creates sent at this date or time, or later', dateOrMoment)
    .option('--auto-approve', 'Skip the approval prompt')
    .action((addresses: readonly string[], options: ResolveOptions) =>
      start(async (context) =>
        (await import('../actions/state-resolve.ts')).resolvePending(
          context,
          addresses.map(addressArgument),
          options,
        ),
      ),
    );
  withLock(state.command('mv'))
    .summary('Rename an address')
    .description(
      'Rename an address; the record stays the same. metadata.previous_names does this from the manifests.',
    )
    .argument('<from>', 'Address, e.g. Agent/support-line', addressArgument)
    .argument('<to>', 'New address, of the same kind', addressArgument)
    .action((from: string, to: string, options: LockFlags) =>
      start(async (context) =>
        (await import('../actions/state-edits.ts')).moveInState(context, { from, to }, options),
      ),
    );
  withLock(state.command('rm'))
    .summary('Release resources')
    .description(
      'Release resources from management. Their records stay on the platform and go on the orphan list.',
    )
    .argument('<address...>', 'Address, e.g. Agent/support-line')
    .action((addresses: readonly string[], options: LockFlags) =>
      start(async (context) =>
        (await import('../actions/state-edits.ts')).removeFromState(
          context,
          addresses.map(addressArgument),
          options,
        ),
      ),
    );
  state
    .command('pull')
    .summary('Print the state')
    .description('Print the state as JSON.')
    .action(() => start(async (context) => (await import('../actions/state-edits.ts')).pullState(context)));
  withLock(state.command('push'))
    .summary('Replace the state')
    .description(
      'Replace the state with a file. Resources missing from the file are no longer managed, and their records go on the orphan list. The old state is kept as a backup.',
    )
    .argument('<file>', 'Output of voxform state pull')
    .option(
      '--force',
      'Replace a newer state, or one of another lineage; records missing from the file are forgotten, not listed as orphans',
    )
    .action((file: string, options: PushFlags) =>
      start(async (context) =>
        (await import('../actions/state-edits.ts')).pushStateFile(context, file, options),
      ),
    );
  withLock(state.command('move'))
    .summary('Move a state to the configured place')
    .description(
      'Move a state to the place that voxform.yaml configures, after you renamed the workspace or changed its state settings. The old place keeps a pointer to the new one. Run it again to finish an interrupted move.',
    )
    .requiredOption(
      '--from <place>',
      'State file, "local" for the default file of this workspace, or settings such as \'{ backend: local, path: old.state.json }\'',
    )
    .action((options: MoveFlags) =>
      start(async (context) => (await import('../actions/state-move.ts')).moveStateHere(context, options)),
    );
  withLock(state.command('init'))
    .summary('Create an empty state')
    .description(
      'Create an empty state even though another state of this workspace exists. The next apply creates again the records that only the other state knows.',
    )
    .option('--sql', 'Print the SQL that an administrator runs to set up a database, and change nothing')
    .action((options: InitFlags) =>
      start(async (context) => (await import('../actions/state-move.ts')).initState(context, options)),
    );
  withLock(state.command('rescue'))
    .summary('Record the ids that a run could not store')
    .description(
      'Record the ids in a rescue file: what a run did on the platform and could not store in the state. Runs in the same project folder do this themselves.',
    )
    .argument('<file>', 'File that the run named, .voxform/rescue/ID.jsonl')
    .action((file: string, options: LockFlags) =>
      start(async (context) =>
        (await import('../actions/state-edits.ts')).rescueState(context, file, options),
      ),
    );
  state
    .command('unlock')
    .summary('Release a lock left behind')
    .description('Release a lock that its holder left behind. The run that was refused printed its id.')
    .argument('<id>', 'Id of the lock, or at least its first 8 characters')
    .action((id: string) =>
      start(async (context) => (await import('../actions/state.ts')).unlockState(context, id)),
    );
}
