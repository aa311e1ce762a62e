import { kindNamed } from '../../kinds/index.ts';
import type { ShownRecord } from '../../kinds/kind.ts';
import type { Orphan } from '../../state/state-document.ts';
import { eachConcurrently } from './each-concurrently.ts';
import type { ObserveOptions } from './observe-options.ts';
import { getRecord } from './read-record.ts';

/**
 * The orphans of these kinds that the platform had called gone and shows again: one of them may be all that a missing record
 * needs. Reads those that no list shows.
 */
export async function returnedOrphans(
  kinds: ReadonlySet<string>,
  lists: ReadonlyMap<string, readonly ShownRecord[]>,
  options: ObserveOptions,
): Promise<readonly Orphan[]> {
  const gone = options.state.orphans.filter(
    ({ kind, reason, closed }) => reason === 'gone' && closed === undefined && kinds.has(kind),
  );
  const back = new Set<Orphan>();
  await eachConcurrently(gone, options.concurrency, async (orphan) => {
    const list = lists.get(orphan.kind);
    const isShown =
      list === undefined
        ? (await getRecord(kindNamed(orphan.kind), { ...options, id: orphan.id })).status === 'shown'
        : list.some(({ id }) => id === orphan.id);
    if (isShown) back.add(orphan);
  });
  return gone.filter((orphan) => back.has(orphan));
}
