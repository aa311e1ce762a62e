import type { Kind, ShownRecord } from '../../kinds/kind.ts';
import type { Observation } from '../decide/observed.ts';
import { getRecord, type ObserveOptions, readList, unlisted } from './read-records.ts';

export type Recheck = ReturnType<typeof createRecheck>;

/** Reads records again some time after the plan was made. A list is reused for at most `maxAgeMilliseconds`. */
export function createRecheck(
  { client, workspaceId }: Pick<ObserveOptions, 'client' | 'workspaceId'>,
  { maxAgeMilliseconds, now }: { maxAgeMilliseconds: number; now(): Date },
) {
  const lists = new Map<string, { readonly at: number; readonly listed: Promise<ListIndex> }>();
  const listOf = (kind: Kind): Promise<ListIndex> => {
    let recent = lists.get(kind.name);
    if (recent === undefined || now().getTime() - recent.at > maxAgeMilliseconds) {
      recent = { at: now().getTime(), listed: listAll(kind, { client, workspaceId }) };
      lists.set(kind.name, recent);
    }
    return recent.listed;
  };
  return {
    async at(kind: Kind, id: string): Promise<Observation> {
      if (kind.get !== undefined) return getRecord(kind, { id, client, workspaceId });
      if (kind.list === undefined) return { status: 'absent' };
      const record = (await listOf(kind)).byId.get(id);
      return record === undefined ? unlisted(id, client) : { status: 'shown', record };
    },
    /** True if a list shows a record with this natural key; false for kinds without a list. */
    holdsKey: async (kind: Kind, key: string): Promise<boolean> =>
      kind.list !== undefined && (await listOf(kind)).byKey.has(key),
    /** Reads the list again and returns the records with this natural key; empty for kinds without a list. */
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
  const shown = await readList(kind, platform);
  return {
    byId: new Map(shown.map((record) => [record.id, record])),
    byKey: Map.groupBy(shown, (record) => kind.naturalKeyOf?.(record)),
  };
}
