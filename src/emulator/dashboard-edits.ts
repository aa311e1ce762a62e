import { isObject, type Json } from '../values/json.ts';
import { microsecondTime, offsetTime } from './ids-and-clock.ts';
import { type KeyMarker, markKey } from './key-marker.ts';
import { mergePatch } from './merge-patch.ts';
import { notFound } from './refusal.ts';
import { checkedStrictly } from './request-checks.ts';
import { type CollectionName, type Stored, storedSchemas } from './stored-records.ts';
import type { World } from './world.ts';

/** Stores a record, new or changed. Throws a 422 where a field does not fit. */
export function putRecord<Name extends CollectionName>(
  world: World,
  collection: Name,
  fields: unknown,
): Stored<Name> {
  const record = checkedStrictly(storedSchemas[collection], fields);
  world.records[collection].set(String(record.id), record);
  return record;
}

/** Lays a merge patch over a record. A field of the record itself that the patch removes becomes null. */
export function editRecord<Name extends CollectionName>(
  world: World,
  { collection, id, patch }: { collection: Name; id: string; patch: { readonly [field: string]: Json } },
): Stored<Name> {
  const record = world.records[collection].get(id);
  if (record === undefined) throw notFound(collection);
  const now = world.beginWrite();
  const emptied = Object.fromEntries(Object.keys(record).map((field) => [field, null]));
  const { key, patch: visible } = withKeyApart(world, patch);
  const merged = mergePatch(record, visible);
  return putRecord(world, collection, {
    ...emptied,
    ...(isObject(merged) ? merged : {}),
    ...(key === undefined ? {} : { api_key: key }),
    ...editTime(record, now),
    id: record.id,
  });
}

/** Removes a record; links, user access and the like that named it are cleared. */
export function removeRecord(world: World, collection: CollectionName, id: string): void {
  if (!world.records[collection].has(id)) throw notFound(collection);
  world.beginWrite();
  world.records[collection].delete(id);
  if (collection === 'agents') forgetAgent(world, id);
}

function forgetAgent({ numbers, users }: World, id: string): void {
  for (const number of numbers.values()) {
    if (number.inbound_agent_id !== id && number.outbound_agent_id !== id) continue;
    numbers.set(number.id, {
      ...number,
      inbound_agent_id: number.inbound_agent_id === id ? null : number.inbound_agent_id,
      outbound_agent_id: number.outbound_agent_id === id ? null : number.outbound_agent_id,
    });
  }
  for (const user of users.values()) {
    if (user.agent_ids.includes(id)) {
      users.set(user.id, { ...user, agent_ids: user.agent_ids.filter((agentId) => agentId !== id) });
    }
  }
}

function withKeyApart(
  world: World,
  patch: { readonly [field: string]: Json },
): { key: KeyMarker | undefined; patch: { readonly [field: string]: Json } } {
  const config = patch.llm_config;
  if (!isObject(config) || typeof config.api_key !== 'string') return { key: undefined, patch };
  const { api_key, ...visible } = config;
  return {
    key: markKey(api_key, world.sequence.randomText()),
    patch: { ...patch, llm_config: visible as { readonly [field: string]: Json } },
  };
}

/** The time of the edit in the form that this record's times have; nothing for a record without one. */
function editTime(record: object, now: number): { updated_at?: string } {
  if (!('updated_at' in record)) return {};
  const isMicroseconds = String(record.updated_at).endsWith('Z');
  return { updated_at: isMicroseconds ? microsecondTime(now) : offsetTime(now) };
}
