import type { World } from '../../src/emulator/world.ts';
import type { State } from '../../src/state/state.ts';
import { firstAddress } from './manifests.ts';

export interface Census {
  /** Records that are neither managed nor released, and whose address has no unknown create in the state. */
  readonly lost: readonly string[];
  /** Addresses with more than one record that was not released. */
  readonly duplicates: readonly string[];
}

/** Compares the records on the platform with the state. */
export function census(world: World, state: State): Census {
  const pending = new Map([...state.pending].map(([address, create]) => [firstAddress(address), create]));
  const lost: string[] = [];
  const activeRecords = new Map<string, number>();
  for (const record of recordsOf(world)) {
    if (isReleased(record, state)) continue;
    const { kind, id, address } = record;
    activeRecords.set(address, (activeRecords.get(address) ?? 0) + 1);
    // The next run finds a number by its digits.
    const isKnown = kind === 'PhoneNumber' || isManaged(record, state) || pending.has(address);
    if (!isKnown) lost.push(`${address} (${id})`);
  }
  const duplicates = [...activeRecords]
    // While the create of a replacement is unknown, the replaced record is active too.
    .filter(([address, number]) => number > (pending.get(address)?.replaces === undefined ? 1 : 2))
    .map(([address]) => address);
  return { lost, duplicates };
}

/** Returns the record of an unknown create, if the platform created it. */
export function unknownRecord(world: World, state: State, address: string): CreatedRecord | undefined {
  return recordsOf(world).find(
    (record) => record.address === firstAddress(address) && !isManaged(record, state) && !isReleased(record, state),
  );
}

function isManaged({ kind, id }: CreatedRecord, { resources }: State): boolean {
  return [...resources].some(([address, entry]) => entry.id === id && address.startsWith(`${kind}/`));
}

function isReleased({ kind, id }: CreatedRecord, { orphans }: State): boolean {
  return orphans.some((orphan) => orphan.id === id && orphan.kind === kind);
}

export interface CreatedRecord {
  readonly kind: string;
  readonly id: string;
  readonly address: string;
}

/** Returns all created records, with the first address of each, derived from its name, nickname or URL. */
export function recordsOf({ agents, webhooks, numbers }: World): CreatedRecord[] {
  return [
    ...[...agents.values()].map(({ id, name }) => createdRecord('Agent', id, name)),
    ...[...webhooks.values()].map(({ id, url }) => createdRecord('Webhook', id, url.slice(url.lastIndexOf('/') + 1))),
    ...[...numbers.values()].map(({ id, nickname }) => createdRecord('PhoneNumber', id, nickname)),
  ];
}

function createdRecord(kind: string, id: string, name: unknown): CreatedRecord {
  return { kind, id, address: firstAddress(`${kind}/${String(name)}`) };
}
