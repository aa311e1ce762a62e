import { kinds } from '../../kinds/index.ts';
import { type Address, idKey, kindOf, type Resource } from '../../manifests/resource.ts';
import type { StateSession } from '../../state/session.ts';
import { managedRecords, type State } from '../../state/state.ts';
import type { Orphan, PendingCreate } from '../../state/state-document.ts';
import { type DiscoveryInput, discover, type KnownId, type MissedRecord } from '../discover.ts';
import { type BackupRecord, backupClause, type Match, matchesFor } from './matches.ts';

interface RecoveryInput extends Omit<DiscoveryInput, 'known' | 'kinds'> {
  readonly resources: readonly Resource[];
  /** The current state; empty if the state is lost. */
  readonly state: State;
  /** Newest first. */
  readonly backups: readonly BackupState[];
  /** Ids given by a person. */
  readonly given: readonly KnownId[];
}

export interface Recovery {
  /** The match of each manifest without a record in the state. */
  readonly matches: readonly Match[];
  /** Manifests with an unknown create in the state. These creates are not resolved here. */
  readonly unanswered: readonly Address[];
  readonly missed: readonly MissedRecord[];
  readonly merged: MergedBackups;
}

/** Searches for the records of manifests that have no record in the state. If there are none, does not read the platform. */
export async function findLostRecords(input: RecoveryInput): Promise<Recovery> {
  const { resources, state } = input;
  const merged = mergeBackups(input.backups, input.workspaceId);
  const withoutRecord = resources.filter(({ address }) => !state.resources.has(address));
  const unanswered = withoutRecord.filter(({ address }) => state.pending.has(address));
  const unmatched = withoutRecord.filter(({ address }) => !state.pending.has(address));
  const result = { unanswered: unanswered.map(({ address }) => address), merged };
  if (unmatched.length === 0) return { ...result, matches: [], missed: [] };
  const namedIds = unmatched.flatMap(({ kind, id, address }) =>
    id === undefined ? [] : [{ kind, id, clause: `named by metadata.id of ${address}` }],
  );
  const searchedKinds = new Map([...kinds].filter(([name]) => unmatched.some(({ kind }) => kind === name)));
  const known = [...input.given, ...namedIds, ...merged.known];
  const discovery = await discover({ ...input, kinds: searchedKinds, known });
  const { remembered } = merged;
  const matches = matchesFor({ manifests: unmatched, discovery, inUse: recordsInUse(state, merged), remembered });
  return { ...result, matches, missed: discovery.missed };
}

/** Returns the ids of managed records and of orphans, by kind. */
function recordsInUse(state: State, { orphans }: MergedBackups): Map<string, Set<string>> {
  const inUse = new Map<string, Set<string>>();
  const add = (kind: string, id: string): void => {
    const ids = inUse.get(kind) ?? new Set<string>();
    inUse.set(kind, ids.add(id));
  };
  for (const [address, { id }] of state.resources) add(kindOf(address), id);
  for (const { kind, id } of [...state.orphans, ...orphans]) add(kind, id);
  return inUse;
}

/** A backup of a state, or a file with ids of its records. */
export interface BackupState {
  /** The name of the file. */
  readonly source: string;
  /** The workspace of the state; undefined if the file names no workspace. */
  readonly workspaceId: string | undefined;
  readonly resources: ReadonlyMap<Address, { readonly id: string }>;
  readonly pending: ReadonlyMap<Address, PendingCreate>;
  readonly orphans: readonly Orphan[];
}

/** The newest information about each address in the backups of a state. */
interface MergedBackups {
  readonly remembered: ReadonlyMap<Address, BackupRecord>;
  /** All ids in the backups. */
  readonly known: readonly KnownId[];
  /** Unknown creates in the newest backup. */
  readonly pending: ReadonlyMap<Address, PendingCreate>;
  readonly orphans: readonly Orphan[];
}

/** @param backups the backups, newest first. Backups of other workspaces are ignored. */
export function mergeBackups(backups: readonly BackupState[], workspaceId: string): MergedBackups {
  const remembered = new Map<Address, BackupRecord>();
  const known = new Map<string, KnownId>();
  const pending = new Map<Address, PendingCreate>();
  const orphans = new Map<string, Orphan>();
  let isNewest = true;
  for (const { source, workspaceId: owner, ...state } of backups) {
    if (owner !== undefined && owner !== workspaceId) continue;
    const name = source.split(/[\\/]/).at(-1) ?? source;
    // Unknown creates in older backups may have been resolved since.
    if (isNewest) for (const [address, create] of state.pending) pending.set(address, create);
    if (owner !== undefined) isNewest = false;
    for (const [address, { id }] of state.resources) {
      const kind = kindOf(address);
      const key = idKey(kind, id);
      if (!remembered.has(address) && !orphans.has(key)) remembered.set(address, { id, source: name });
      if (!known.has(key)) known.set(key, { kind, id, clause: backupClause(name) });
    }
    for (const orphan of state.orphans) {
      const key = idKey(orphan.kind, orphan.id);
      if (!orphans.has(key) && !known.has(key)) orphans.set(key, orphan);
    }
  }
  return { remembered, known: [...known.values()], pending, orphans: [...orphans.values()] };
}

/** Restores orphans and unknown creates in a new state, so that no create is sent again. Skips records that are managed already. */
export async function restore(
  { pending, orphans }: MergedBackups,
  session: StateSession,
  declared: ReadonlySet<Address>,
): Promise<void> {
  const managed = managedRecords(session.state);
  const orphaned = new Set(session.state.orphans.map(({ kind, id }) => idKey(kind, id)));
  for (const orphan of orphans) {
    const key = idKey(orphan.kind, orphan.id);
    // A `forgotten` event would release the record that the state now has at this address.
    if (managed.has(key) || orphaned.has(key) || session.state.resources.has(orphan.address)) continue;
    await session.record({ type: 'forgotten', address: orphan.address, orphan });
  }
  for (const [address, create] of pending) {
    const isKnown = session.state.resources.has(address) || session.state.pending.has(address);
    if (!isKnown && declared.has(address)) await session.record({ type: 'creating', address, pending: create });
  }
}
