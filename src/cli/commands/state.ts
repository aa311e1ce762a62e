import type { Command } from 'commander';
import type { StateOutput } from '../actions/state.ts';
import type { PushFlags } from '../actions/state-edits.ts';
import type { MoveFlags } from '../actions/state-move.ts';
import type { ResolveOptions } from '../actions/state-resolve.ts';
import type { Start } from '../context.ts';
import { dateOrMoment } from '../dates.ts';
import { address as addressArgument, type LockFlags, outputOption, withLock } from '../flags.ts';

export function defineState(program: Command, start: Start): void {
  const state = program
    .command('state')
    .summary('look at the state, and settle what it waits for')
    .description(
      "The project's memory of one workspace: which record each address is, and what was last sent.",
    );

  state
    .command('list')
    .summary('the addresses and their ids')
    .description('Lists what the state holds.')
    .addOption(outputOption(['text', 'json']))
    .action((options: StateOutput) =>
      start(async (context) => (await import('../actions/state.ts')).listState(context, options)),
    );
  state
    .command('show')
    .summary('everything remembered of one resource')
    .description('Shows everything that the state remembers of one resource, as JSON.')
    .argument('<address>', 'e.g. Agent/support-line', addressArgument)
    .action((address: string) =>
      start(async (context) => (await import('../actions/state.ts')).showState(context, address)),
    );
  withLock(state.command('resolve'))
    .summary('say that unknown creates did not happen')
    .description(
      'Resolves creates that had no clear answer, once you have looked in the dashboard. If a record is there: voxform import ADDRESS ID.',
    )
    .argument('[address...]', 'e.g. Agent/support-line')
    .requiredOption('--not-created', 'the records are not there')
    .option('--all', 'every unknown create, after one approval')
    .option('--since <time>', 'with --all: only those sent at this date or moment, or later', dateOrMoment)
    .option('--auto-approve', 'do not ask')
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
    .summary('give a record another address')
    .description('Gives a record another address. metadata.previous_names does the same from the manifests.')
    .argument('<from>', 'e.g. Agent/support-line', addressArgument)
    .argument('<to>', 'of the same kind', addressArgument)
    .action((from: string, to: string, options: LockFlags) =>
      start(async (context) =>
        (await import('../actions/state-edits.ts')).moveInState(context, { from, to }, options),
      ),
    );
  withLock(state.command('rm'))
    .summary('release resources from management')
    .description('Releases resources. Their records stay on the platform and go on the orphan list.')
    .argument('<address...>', 'e.g. Agent/support-line')
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
    .summary('print the state')
    .description('Prints the state as JSON.')
    .action(() => start(async (context) => (await import('../actions/state-edits.ts')).pullState(context)));
  withLock(state.command('push'))
    .summary('put a document in the place of the state')
    .description(
      'Puts a document in the place of the state. The earlier state is kept as a backup. Records that only the earlier one knows go on the orphan list.',
    )
    .argument('<file>', 'as `voxform state pull` prints it')
    .option(
      '--force',
      'also when it is older than the state, or of another lineage; drops what it does not hold',
    )
    .action((file: string, options: PushFlags) =>
      start(async (context) =>
        (await import('../actions/state-edits.ts')).pushStateFile(context, file, options),
      ),
    );
  withLock(state.command('move'))
    .summary('move a state to where the workspace keeps its own')
    .description(
      'Moves a state to where voxform.yaml says that the workspace keeps its own, as after a rename of the workspace or a change of its state settings. The old place then only says where the state went. An interrupted move is finished by running it again.',
    )
    .requiredOption(
      '--from <place>',
      'file of the state, "local" for the default file of this workspace, or settings such as \'{ backend: local, path: old.state.json }\'',
    )
    .action((options: MoveFlags) =>
      start(async (context) => (await import('../actions/state-move.ts')).moveStateHere(context, options)),
    );
  withLock(state.command('init'))
    .summary('begin an empty state on purpose')
    .description(
      'Creates an empty state, also where another state of the same workspace lies nearby. Records that only the other one knows are created again by the next apply.',
    )
    .action((options: LockFlags) =>
      start(async (context) => (await import('../actions/state-move.ts')).initState(context, options)),
    );
  state
    .command('unlock')
    .summary('end a lock that its holder left behind')
    .description(
      'Ends a lock that its holder left behind. The id is in the message of the run that found the lock.',
    )
    .argument('<id>', 'of the lock')
    .action((id: string) =>
      start(async (context) => (await import('../actions/state.ts')).unlockState(context, id)),
    );
}
