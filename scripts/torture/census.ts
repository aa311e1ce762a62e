import type { World } from '../../src/emulator/world.ts';
import type { State } from '../../src/state/state.ts';
import { firstAddress } from './manifests.ts';

export interface Census {
  /** Records that the state neither manages nor has released, and whose address it does not hold to be unknown. */
  readonly lost: readonly string[];
  /** Addresses with more records than were released. */
  readonly duplicates: readonly string[];
}

/** What the platform holds, held against what the state knows. */
export function census(world: World, state: State): Census {
  const pending = new Map([...state.pending].map(([address, create]) => [firstAddress(address), create]));
  const lost: string[] = [];
  const inForce = new Map<string, number>();
  for (const record of recordsOf(world)) {
    if (isReleased(record, state)) continue;
    const { kind, id, address } = record;
    inForce.set(address, (inForce.get(address) ?? 0) + 1);
    // A number is found again by its digits.
    const isFound = kind === 'PhoneNumber' || isManaged(record, state) || pending.has(address);
    if (!isFound) lost.push(`${address} (${id})`);
  }
  const duplicates = [...inForce]
    // While it is not known whether a replacement was made, the record that it replaces is in force too.
    .filter(([address, number]) => number > (pending.get(address)?.replaces === undefined ? 1 : 2))
    .map(([address]) => address);
  return { lost, duplicates };
}

/** The record of a create that had no clear answer, if it was made: one of that address which the state does not know. */
export function unknownRecord(world: World, state: State, address: string): MadeRecord | undefined {
  return recordsOf(world).find(
    (record) => record.address === firstAddress(address) && !isManaged(record, state) && !isReleased(record, state),
  );
}

function isManaged({ kind, id }: MadeRecord, { resources }: State): boolean {
  return [...resources].some(([address, entry]) => entry.id === id && address.startsWith(`${kind}/`));
}

function isReleased({ kind, id }: MadeRecord, { orphans }: State): boolean {
  return orphans.some((orphan) => orphan.id === id && orphan.kind === kind);
}

export interface MadeRecord {
  readonly kind: string;
  readonly id: string;
  readonly address: string;
}

/** Every record that a create made, with the first address that its name, nickname or URL tells. */
export function recordsOf({ agents, webhooks, numbers }: World): MadeRecord[] {
  return [
    ...[...agents.values()].map(({ id, name }) => made('Agent', id, name)),
    ...[...webhooks.values()].map(({ id, url }) => made('Webhook', id, url.slice(url.lastIndexOf('/') + 1))),
    ...[...numbers.values()].map(({ id, nickname }) => made('PhoneNumber', id, nickname)),
  ];
}

function made(kind: string, id: string, name: unknown): MadeRecord {
  return { kind, id, address: firstAddress(`${kind}/${String(name)}`) };
}
