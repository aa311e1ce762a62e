import type { World } from '../../src/emulator/world.ts';
import type { State } from '../../src/state/state.ts';

export interface Census {
  /** Records that the state neither manages nor has released, and whose address it does not hold to be unknown. */
  readonly lost: readonly string[];
  /** Addresses with more records than were released. */
  readonly duplicates: readonly string[];
}

/** What the platform holds, held against what the state knows. */
export function census(world: World, state: State): Census {
  const known = new Set([...state.resources].map(([address, { id }]) => `${kindOf(address)}/${id}`));
  const released = new Set(state.orphans.map(({ kind, id }) => `${kind}/${id}`));
  const lost: string[] = [];
  const inForce = new Map<string, number>();
  for (const { kind, id, address } of recordsOf(world)) {
    const record = `${kind}/${id}`;
    if (released.has(record)) continue;
    inForce.set(address, (inForce.get(address) ?? 0) + 1);
    // A number is found again by its digits.
    const isFound = kind === 'PhoneNumber' || known.has(record) || state.pending.has(address);
    if (!isFound) lost.push(`${address} (${id})`);
  }
  const duplicates = [...inForce].filter(([, number]) => number > 1).map(([address]) => address);
  return { lost, duplicates };
}

export interface MadeRecord {
  readonly kind: string;
  readonly id: string;
  readonly address: string;
}

/** Every record that a create made, with the address that its name, nickname or URL tells. */
export function recordsOf({ agents, webhooks, numbers }: World): MadeRecord[] {
  return [
    ...[...agents.values()].map(({ id, name }) => made('Agent', id, name)),
    ...[...webhooks.values()].map(({ id, url }) => made('Webhook', id, url.slice(url.lastIndexOf('/') + 1))),
    ...[...numbers.values()].map(({ id, nickname }) => made('PhoneNumber', id, nickname)),
  ];
}

function made(kind: string, id: string, name: unknown): MadeRecord {
  return { kind, id, address: `${kind}/${String(name)}` };
}

function kindOf(address: string): string {
  return address.slice(0, address.indexOf('/'));
}
