import { fold } from './fold.ts';
import type { DeadRun, RunResources } from './history.ts';
import { changeOf } from './run-ending.ts';
import type { StateDocument } from './state-document.ts';
import type { StateLease, StateStore, StoredState } from './store.ts';

/** The run that left the journal; undefined where the history has its end, or does not know it. */
export async function deadRunOf(
  store: Pick<StateStore, 'history'>,
  { info }: Pick<StateLease, 'info'>,
  { document, journal }: StoredState,
): Promise<DeadRun | undefined> {
  const [first, last] = [journal[0], journal.at(-1)];
  if (document === undefined || first === undefined || last === undefined) return undefined;
  // A history that cannot be read is no reason to leave the journal.
  const runs = await store.history().catch(() => []);
  const writer = runs.findLast(
    ({ run, began }) => run !== info.id && Date.parse(began) <= Date.parse(first.at),
  );
  if (writer === undefined || writer.result !== undefined) return undefined;
  const resources = resourcesIn(document, journal);
  return { id: writer.run, ended: new Date(last.at), outcome: { result: 'died', resources } };
}

/** What the entries say of each resource, in their order; what they leave open at the end. */
function resourcesIn(document: StateDocument, journal: StoredState['journal']): RunResources {
  const state = fold(document, []);
  const told: RunResources[number][] = [];
  const open = new Map<string, RunResources[number]>();
  for (const { event, at } of journal) {
    if (event.type === 'creating' || event.type === 'updating') {
      const isCreate = event.type === 'creating';
      open.set(event.address, {
        address: event.address,
        action: isCreate ? 'create' : 'update',
        id: isCreate ? null : (state.resources.get(event.address)?.id ?? null),
        paths: isCreate ? [] : event.paths,
        result: 'failed',
        error: 'the outcome is unknown',
      });
    } else {
      const address = 'address' in event ? event.address : undefined;
      const intent = address === undefined ? undefined : open.get(address);
      if (address !== undefined) open.delete(address);
      if (event.type === 'not-done' && intent !== undefined) told.push({ ...intent, error: 'not done' });
      for (const change of changeOf(event, state)) {
        const { action, paths } = (event.type === 'saved' && intent) || change;
        told.push({ ...change, action, paths });
      }
    }
    state.apply({ event, at });
  }
  return [...told, ...open.values()];
}
