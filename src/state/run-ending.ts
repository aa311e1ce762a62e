import { UserError } from '../problems/user-error.ts';
import type { RunEnding, RunResources } from './history.ts';
import type { JournalEvent } from './journal.ts';
import type { State } from './state.ts';

/** How a run ends that this error ended. */
export function endingAfter(
  error: unknown,
  { signal, changed }: { readonly signal: AbortSignal | undefined; readonly changed: boolean },
): RunEnding {
  const result = signal?.aborted
    ? 'interrupted'
    : changed || !(error instanceof UserError)
      ? 'failed'
      : 'refused';
  return { result, error: reasonOf(error) };
}

/** What a person would call a change, for the history; the event is not in the state yet. */
export function changeOf(event: JournalEvent, { resources }: State): RunResources {
  const told = (action: string, address: string, id = resources.get(address)?.id): RunResources => [
    { address, action, id: id ?? null, paths: [], result: 'done' },
  ];
  switch (event.type) {
    case 'saved':
      return told('import', event.address, event.entry.id);
    case 'forgotten':
      return told('release', event.address, event.orphan?.id);
    case 'closed':
      return told('close', event.orphan.address, event.orphan.id);
    case 'resolved':
      return told('resolve', event.address);
    case 'renamed':
      return told('rename', event.from).map((each) => ({ ...each, address: event.to, from: event.from }));
    default:
      return [];
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
