import type { Kind, ShownRecord } from '../../kinds/kind.ts';
import type { Observation } from '../decide/observed.ts';
import { getRecord, type ObserveOptions, observationWithoutRecord, readList } from './read-records.ts';

export type Recheck = ReturnType<typeof createRecheck>;

/** Returns functions that read records again after the plan was made. A list is reused for at most `maxAgeMilliseconds`. */
export function createRecheck(
  { client, workspaceId }: Pick<ObserveOptions, 'client' | 'workspaceId'>,
  { maxAgeMilliseconds, now }: { maxAgeMilliseconds: number; now(): Date },
) {
  const lists = new Map<string, { readonly readAt: number; readonly index: Promise<ListIndex> }>();
  const listOf = (kind: Kind): Promise<ListIndex> => {
    let cached = lists.get(kind.name);
    if (cached === undefined || now().getTime() - cached.readAt > maxAgeMilliseconds) {
      cached = { readAt: now().getTime(), index: listAll(kind, { client, workspaceId }) };
      lists.set(kind.name, cached);
    }
    return cached.index;
  };
  return {
    async at(kind: Kind, id: string): Promise<Observation> {
      if (kind.get !== undefined) return getRecord(kind, { id, client, workspaceId });
      if (kind.list === undefined) return { status: 'absent' };
      const record = (await listOf(kind)).byId.get(id);
      return record === undefined ? observationWithoutRecord(id, client) : { status: 'shown', record };
    },
    /** Returns true if the list contains a record with this natural key; false for kinds without a list. */
    holdsKey: async (kind: Kind, key: string): Promise<boolean> =>
      kind.list !== undefined && (await listOf(kind)).byKey.has(key),
    /** Reads the list again. Returns the records with this natural key, or an empty array for kinds without a list. */
    async withKey(kind: Kind, key: string): Promise<readonly ShownRecord[]> {
      if (kind.list === undefined) return [];
      return (await listAll(kind, { client, workspaceId })).byKey.get(key) ?? [];
    },
  };
}

interface ListIndex {
  readonly byId: ReadonlyMap<string, ShownRecord>;
  readonly byKey: ReadonlyMap<string | undefined, readonly ShownRecord[]>;
}

async function listAll(kind: Kind, platform: Pick<ObserveOptions, 'client' | 'workspaceId'>): Promise<ListIndex> {
  const records = await readList(kind, platform);
  return {
    byId: new Map(records.map((record) => [record.id, record])),
    byKey: Map.groupBy(records, (record) => kind.naturalKeyOf?.(record)),
  };
}
