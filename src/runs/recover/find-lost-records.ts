import { kinds } from '../../kinds/index.ts';
import { type Address, idKey, kindOf, type Resource } from '../../manifests/resource.ts';
import type { StateSession } from '../../state/session.ts';
import { managedRecords, type State } from '../../state/state.ts';
import type { Orphan, PendingCreate } from '../../state/state-document.ts';
import { type Discovering, discover, type KnownId, type Missed } from '../discover.ts';
import { hasRecord, type Match, matchesFor, type Remembered } from './matches.ts';

interface Recovering extends Omit<Discovering, 'known' | 'kinds'> {
  /** All resources of the manifests. */
  readonly resources: readonly Resource[];
  /** The current state; empty if it is lost. */
  readonly state: State;
  /** Newest first. */
  readonly backups: readonly RememberedState[];
  /** Ids given by a person. */
  readonly given: readonly KnownId[];
}

export interface Recovery {
  /** One for each manifest without a record in the state, by address. */
  readonly matches: readonly Match[];
  /** Manifests with an unknown create in the state, which is not resolved here. */
  readonly unanswered: readonly Address[];
  readonly missed: readonly Missed[];
  readonly merged: MergedBackups;
}

/** Searches for the records of all manifests that the state lacks. Reads nothing from the platform if it lacks none. */
export async function findLostRecords(input: Recovering): Promise<Recovery> {
  const { resources, state } = input;
  const merged = mergeBackups(input.backups, input.workspaceId);
  const lacking = resources.filter(({ address }) => !state.resources.has(address));
  const unanswered = lacking.filter(({ address }) => state.pending.has(address));
  const wanted = lacking.filter(({ address }) => !state.pending.has(address));
  const result = { unanswered: unanswered.map(({ address }) => address), merged };
  if (wanted.length === 0) return { ...result, matches: [], missed: [] };
  const named = wanted.flatMap(({ kind, id, address }) =>
    id === undefined ? [] : [{ kind, id, clause: `metadata.id of ${address} names it` }],
  );
  const sought = new Map([...kinds].filter(([name]) => wanted.some(({ kind }) => kind === name)));
  const known = [...input.given, ...named, ...merged.known];
  const discovery = await discover({ ...input, kinds: sought, known });
  const { remembered } = merged;
  const matches = matchesFor({ wanted, discovery, held: heldIn(state, merged), remembered });
  return { ...result, matches, missed: discovery.missed };
}

/** Managed records, and those released intentionally. */
function heldIn(state: State, { orphans }: MergedBackups): Map<string, Set<string>> {
  const held = new Map<string, Set<string>>();
  const hold = (kind: string, id: string): void => {
    const ids = held.get(kind) ?? new Set<string>();
    held.set(kind, ids.add(id));
  };
  for (const [address, { id }] of state.resources) hold(kindOf(address), id);
  for (const { kind, id } of [...state.orphans, ...orphans]) hold(kind, id);
  return held;
}

/** A backup of a state, or a file with ids of its records. */
export interface RememberedState {
  /** A file. */
  readonly source: string;
  /** Undefined if the source does not contain it. */
  readonly workspaceId: string | undefined;
  readonly resources: ReadonlyMap<Address, { readonly id: string }>;
  readonly pending: ReadonlyMap<Address, PendingCreate>;
  readonly orphans: readonly Orphan[];
}

/** The merged backups of a state: the newest information on each address. */
interface MergedBackups {
  readonly remembered: ReadonlyMap<Address, Remembered>;
  /** All ids in any backup. */
  readonly known: readonly KnownId[];
  /** Unknown creates in the newest backup. */
  readonly pending: ReadonlyMap<Address, PendingCreate>;
  readonly orphans: readonly Orphan[];
}

/** @param backups newest first. Those of other workspaces are ignored. */
export function mergeBackups(backups: readonly RememberedState[], workspaceId: string): MergedBackups {
  const remembered = new Map<Address, Remembered>();
  const known = new Map<string, KnownId>();
  const pending = new Map<Address, PendingCreate>();
  const orphans = new Map<string, Orphan>();
  let isNewest = true;
  for (const { source, workspaceId: whose, ...state } of backups) {
    if (whose !== undefined && whose !== workspaceId) continue;
    const name = source.split(/[\\/]/).at(-1) ?? source;
    // Unknown creates in older backups may be resolved by now.
    if (isNewest) for (const [address, create] of state.pending) pending.set(address, create);
    if (whose !== undefined) isNewest = false;
    for (const [address, { id }] of state.resources) {
      const kind = kindOf(address);
      const key = idKey(kind, id);
      if (!remembered.has(address) && !orphans.has(key)) remembered.set(address, { id, source: name });
      if (!known.has(key)) known.set(key, { kind, id, clause: hasRecord(name) });
    }
    for (const orphan of state.orphans) {
      const key = idKey(orphan.kind, orphan.id);
      if (!orphans.has(key) && !known.has(key)) orphans.set(key, orphan);
    }
  }
  return { remembered, known: [...known.values()], pending, orphans: [...orphans.values()] };
}

/**
 * Restores the orphan list and the unknown creates in a new state, so that no create is sent again. Records that are managed by now are
 * not changed.
 */
export async function restore(
  { pending, orphans }: MergedBackups,
  session: StateSession,
  declared: ReadonlySet<Address>,
): Promise<void> {
  const held = managedRecords(session.state);
  const listed = new Set(session.state.orphans.map(({ kind, id }) => idKey(kind, id)));
  for (const orphan of orphans) {
    const key = idKey(orphan.kind, orphan.id);
    // The event would release the record at this address.
    if (held.has(key) || listed.has(key) || session.state.resources.has(orphan.address)) continue;
    await session.record({ type: 'forgotten', address: orphan.address, orphan });
  }
  for (const [address, create] of pending) {
    const isKnown = session.state.resources.has(address) || session.state.pending.has(address);
    if (!isKnown && declared.has(address)) await session.record({ type: 'creating', address, pending: create });
  }
}
