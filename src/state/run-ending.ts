import { recordedMessage } from '../platform/platform-error.ts';
import { UserError } from '../problems/user-error.ts';
import { fold } from './fold.ts';
import type { JournalEvent } from './journal-lines.ts';
import type { DeadRun, RunEnding, RunResources } from './run-history.ts';
import type { State } from './state.ts';
import type { StateDocument } from './state-document.ts';
import type { StateLease, StateStore, StoredState } from './store.ts';

export function endingAfter(error: unknown, signal: AbortSignal | undefined, changed: boolean): RunEnding {
  const result = signal?.aborted ? 'interrupted' : changed || !(error instanceof UserError) ? 'failed' : 'refused';
  return { result, error: recordedMessage(error) };
}

/** Returns an event's changes for the history. The event must not have been applied to the state yet. */
export function changeOf(event: JournalEvent, { resources }: State): RunResources {
  const results = (action: string, address: string, id = resources.get(address)?.id): RunResources => [
    { address, action, id: id ?? null, paths: [], result: 'done' },
  ];
  switch (event.type) {
    case 'saved':
      return results('import', event.address, event.entry.id);
    case 'forgotten':
      return results('release', event.address, event.orphan?.id);
    case 'closed':
      return results('close', event.orphan.address, event.orphan.id);
    case 'resolved':
      return results('resolve', event.address);
    case 'renamed':
      return results('rename', event.from).map((each) => ({ ...each, address: event.to, from: event.from }));
    default:
      return [];
  }
}

/** Returns the dead run that left the journal; undefined if the history contains the end of the run, or lacks the run. */
export async function deadRunOf(
  store: Pick<StateStore, 'history'>,
  { info }: Pick<StateLease, 'info'>,
  { document, journal }: StoredState,
): Promise<DeadRun | undefined> {
  const [first, last] = [journal[0], journal.at(-1)];
  if (document === undefined || first === undefined || last === undefined) return undefined;
  // The journal is merged even if the history cannot be read.
  const runs = await store.history().catch(() => []);
  const writer = runs.findLast(({ run, began }) => run !== info.id && Date.parse(began) <= Date.parse(first.at));
  if (writer === undefined || writer.result !== undefined) return undefined;
  const resources = resourcesIn(document, journal);
  return { id: writer.run, ended: new Date(last.at), outcome: { result: 'died', resources } };
}

/** Returns the outcomes in the journal, in order. The outcomes of pending writes come last. */
function resourcesIn(document: StateDocument, journal: StoredState['journal']): RunResources {
  const state = fold(document, []);
  const results: RunResources[number][] = [];
  const open = new Map<string, RunResources[number]>();
  for (const { event, at } of journal) {
    if (event.type === 'creating' || event.type === 'updating') {
      const isCreate = event.type === 'creating';
      open.set(event.address, {
        address: event.address,
        action: isCreate ? 'create' : 'update',
        id: isCreate ? null : (state.resources.get(event.address)?.id ?? null),
        paths: isCreate ? [] : event.paths,
        result: 'unknown',
      });
    } else {
      const address = 'address' in event ? event.address : undefined;
      const intent = address === undefined ? undefined : open.get(address);
      if (address !== undefined) open.delete(address);
      if (event.type === 'not-done' && intent !== undefined)
        results.push({ ...intent, result: 'failed', error: 'not done' });
      for (const change of changeOf(event, state)) {
        const { action, paths } = (event.type === 'saved' && intent) || change;
        results.push({ ...change, action, paths });
      }
    }
    state.apply({ event, at });
  }
  return [...results, ...open.values()];
}
