import type { Command } from 'commander';
import type { StateOutput } from '../actions/state.ts';
import type { Start } from '../context.ts';
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
    .summary('say that an unknown create did not happen')
    .description(
      'Settles a create that had no answer, once you have looked in the dashboard. If the record is there: voxform import ADDRESS ID.',
    )
    .argument('<address>', 'e.g. Agent/support-line', addressArgument)
    .requiredOption('--not-created', 'the record is not there')
    .action((address: string, options: LockFlags) =>
      start(async (context) =>
        (await import('../actions/state.ts')).resolvePending(context, address, options),
      ),
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
