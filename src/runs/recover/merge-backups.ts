import { type Address, idKey, kindOf } from '../../manifests/resource.ts';
import type { StateSession } from '../../state/session.ts';
import type { Orphan, PendingCreate } from '../../state/state-document.ts';
import type { KnownId } from '../discover.ts';
import { hasRecord, type Remembered } from './matches.ts';

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
export interface MergedBackups {
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
  const held = new Set([...session.state.resources].map(([address, { id }]) => idKey(kindOf(address), id)));
  const listed = new Set(session.state.orphans.map(({ kind, id }) => idKey(kind, id)));
  for (const orphan of orphans) {
    const key = idKey(orphan.kind, orphan.id);
    // The event would release the record at this address.
    if (held.has(key) || listed.has(key) || session.state.resources.has(orphan.address)) continue;
    await session.record({ type: 'forgotten', address: orphan.address, orphan });
  }
  for (const [address, create] of pending) {
    const isKnown = session.state.resources.has(address) || session.state.pending.has(address);
    if (!isKnown && declared.has(address))
      await session.record({ type: 'creating', address, pending: create });
  }
}
