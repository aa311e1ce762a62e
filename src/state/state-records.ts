import { idKey, kindOf } from '../manifests/resource.ts';
import type { Orphan, StateDocument } from './state-document.ts';

/** A record in a state. If the record is an orphan, it has all fields of `Orphan`. */
export type StateRecord = Pick<Orphan, 'kind' | 'id' | 'address'> & Partial<Orphan>;

export type StateContent = Pick<StateDocument, 'resources' | 'pending' | 'orphans'>;

/** Returns all records in the document, managed or not. */
function recordsOf({ resources, pending, orphans }: StateContent): StateRecord[] {
  return [
    ...Object.entries(resources).map(([address, { id }]) => ({ kind: kindOf(address), id, address })),
    ...Object.entries(pending).flatMap(([address, { replaces: id }]) =>
      id === undefined ? [] : [{ kind: kindOf(address), id, address }],
    ),
    ...orphans,
  ];
}

interface DroppedRecords {
  readonly ids: readonly StateRecord[];
  /** Addresses of unknown creates. */
  readonly pending: readonly string[];
}

/** Returns the records of `before` that are missing from `after`. */
export function droppedBy(after: StateContent, before: StateContent): DroppedRecords {
  const known = new Set(recordsOf(after).map(({ kind, id }) => idKey(kind, id)));
  const dropped = recordsOf(before).filter(({ kind, id }) => !known.has(idKey(kind, id)));
  return {
    ids: [...new Map(dropped.map((record) => [idKey(record.kind, record.id), record])).values()],
    pending: Object.keys(before.pending).filter(
      (address) =>
        !Object.hasOwn(after.pending, address) &&
        // A new record at the address resolves the create. The record that was there before does not.
        [undefined, before.resources[address]?.id].includes(after.resources[address]?.id),
    ),
  };
}

/** Returns descriptions of the records in another copy that are missing from the document: addresses, with their ids if known. */
export function missingFrom(document: StateContent, other: StateContent): string[] {
  const { ids, pending } = droppedBy(document, other);
  return [...ids.map(({ address, id }) => `${address} (${id})`), ...pending];
}

/** Returns an id that two addresses of one kind share, if any. Each address would overwrite the changes of the other. */
export function sharedId({
  resources,
}: Pick<StateContent, 'resources'>): { readonly id: string; readonly addresses: readonly string[] } | undefined {
  const addresses = new Map<string, string>();
  for (const [address, { id }] of Object.entries(resources)) {
    const key = idKey(kindOf(address), id);
    const other = addresses.get(key);
    if (other !== undefined) return { id, addresses: [other, address] };
    addresses.set(key, address);
  }
  return undefined;
}
