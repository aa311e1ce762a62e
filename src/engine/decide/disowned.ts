import { recordKey } from '../../manifests/resource.ts';
import type { Orphan } from '../../state/document.ts';
import type { State } from '../../state/state.ts';

const byList = new WeakMap<readonly Orphan[], ReadonlyMap<string, Orphan>>();

/** Records that a person handed over or keeps outside voxform, by kind and id: nothing but a person takes them back. */
export function disownedIn({ orphans }: State): ReadonlyMap<string, Orphan> {
  let found = byList.get(orphans);
  if (found === undefined) {
    const closed = orphans.filter(({ closed }) => closed !== undefined && closed.because !== 'deleted');
    found = new Map(closed.map((orphan) => [recordKey(orphan.kind, orphan.id), orphan]));
    byList.set(orphans, found);
  }
  return found;
}
