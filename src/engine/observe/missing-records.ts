import { kindNamed } from '../../kinds/index.ts';
import type { Kind, ShownRecord } from '../../kinds/kind.ts';
import { idKey } from '../../manifests/resource.ts';
import { PlatformError } from '../../platform/platform-error.ts';
import type { Orphan } from '../../state/state-document.ts';
import { eachConcurrently } from './each-concurrently.ts';
import { getRecord, type ObserveOptions } from './read-records.ts';

/**
 * The records that do not exist, with one read each, for kinds that can be read by id. A record that cannot be read counts as existing.
 */
export async function missingAmong(
  mentions: readonly { readonly kind: string; readonly id: string }[],
  options: ObserveOptions,
): Promise<ReadonlySet<string>> {
  const wanted = new Map(mentions.map((each) => [idKey(each.kind, each.id), each]));
  const missing = new Set<string>();
  await eachConcurrently([...wanted], options.concurrency, async ([key, { kind: name, id }]) => {
    const kind = kindNamed(name);
    if (kind.get !== undefined && (await isMissing(kind, id, options))) missing.add(key);
  });
  return missing;
}

async function isMissing(kind: Kind, id: string, options: ObserveOptions): Promise<boolean> {
  try {
    return (await getRecord(kind, { ...options, id })).status === 'missing';
  } catch (error) {
    if (error instanceof PlatformError && error.reason !== 'aborted') return false;
    throw error;
  }
}

/**
 * Orphans of these kinds that were reported missing and are shown again: one of them may be the missing record. Reads those that no list
 * shows.
 */
export async function returnedOrphans(
  kinds: ReadonlySet<string>,
  lists: ReadonlyMap<string, readonly ShownRecord[]>,
  options: ObserveOptions,
): Promise<readonly Orphan[]> {
  const returned = options.state.orphans.filter(
    ({ kind, reason, closed }) => reason === 'gone' && closed === undefined && kinds.has(kind),
  );
  const back = new Set<Orphan>();
  await eachConcurrently(returned, options.concurrency, async (orphan) => {
    const list = lists.get(orphan.kind);
    const isShown =
      list === undefined
        ? (await getRecord(kindNamed(orphan.kind), { ...options, id: orphan.id })).status === 'shown'
        : list.some(({ id }) => id === orphan.id);
    if (isShown) back.add(orphan);
  });
  return returned.filter((orphan) => back.has(orphan));
}
