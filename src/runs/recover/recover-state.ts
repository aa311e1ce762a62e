import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { claimOf, isManagedAlready, recordClaims } from '../../engine/apply/import-record.ts';
import type { Address } from '../../manifests/resource.ts';
import { errorCode, errorMessage } from '../../problems/error-code.ts';
import { advice, command, UserError } from '../../problems/user-error.ts';
import { emptyDocument, fold } from '../../state/fold.ts';
import { withLease } from '../../state/session.ts';
import type { State } from '../../state/state.ts';
import { LostState } from '../../state/state-errors.ts';
import type { StateBackup, StateStore } from '../../state/store.ts';
import { VERSION } from '../../version.ts';
import { readRows } from '../import-rows.ts';
import { MAPS_FOLDER, mapColumn } from '../migrate/id-map.ts';
import type { OpenWorkspace } from '../open-workspace.ts';
import type { LockOptions } from '../run-context.ts';
import { freshState } from '../state-access.ts';
import { type BackupState, type Recovery, restore } from './find-lost-records.ts';

/**
 * Returns the state. If it is lost, returns the contents of the remaining document instead, and the error.
 * @throws UserError if all remaining contents belong to another workspace.
 */
export async function recoverableState(
  opened: OpenWorkspace,
  backups: readonly StateBackup[],
): Promise<{ state: State; loss?: LostState }> {
  const { workspaceId } = opened.workspace;
  try {
    return { state: await opened.state() };
  } catch (error) {
    if (!(error instanceof LostState)) throw error;
    refuseForeign(backups, workspaceId, opened.store);
    const empty = fold(emptyDocument(freshState(), workspaceId, VERSION), []);
    const backup = backups.find(({ isCurrent }) => isCurrent);
    const { resources, pending, orphans } = backup ?? empty;
    const { lineage, salt, serial } = empty;
    return { state: { lineage, salt, serial, workspaceId, resources, pending, orphans }, loss: error };
  }
}

/** Refuses the backups of another workspace, so that they are not quarantined. */
function refuseForeign(backups: readonly StateBackup[], workspaceId: string, store: StateStore): void {
  const owners = backups.flatMap(({ workspaceId: each }) => (each === undefined ? [] : [each]));
  const [first] = owners;
  if (first === undefined || owners.includes(workspaceId)) return;
  throw new UserError(
    `the old state ${store.location} belongs to workspace ${first}, but ${workspaceId} is configured`,
    { hint: `Fix workspace_id, or set another \`${store.setting}\` for this workspace.` },
  );
}

interface RecordingInput extends LockOptions {
  readonly recovery: Recovery;
  /** The chosen id for each address. */
  readonly taken: ReadonlyMap<Address, string>;
  /** True if the state is lost. Its remaining files are quarantined first. */
  readonly isLost: boolean;
}

/**
 * Records the recovered ids in the state.
 * @returns the folder with the quarantined files of a lost state.
 * @throws UserError if another run has recorded something else since the state was read.
 */
export async function recordRecovery(
  opened: OpenWorkspace,
  { recovery, taken, isLost, ...lock }: RecordingInput,
): Promise<string | undefined> {
  const quarantined = isLost ? await quarantine(opened, lock.lockTimeout) : undefined;
  // For a lost state, newer backups are expected: they have been merged into the new state.
  const options = { ...lock, allowOlderState: isLost || lock.allowOlderState === true };
  // The quarantined files are known to belong to this workspace.
  await opened.inSession({ operation: 'recover', options, isLost }, async (session) => {
    if (isLost) {
      const declared = new Set(recovery.matches.map(({ resource }) => resource.address));
      await restore(recovery.merged, session, declared);
    }
    const { state } = session;
    const unknown = isLost ? undefined : [...taken.keys()].find((address) => state.pending.has(address));
    if (unknown !== undefined) throw changedMeanwhile(`${unknown} has had an unknown create since the search`);
    const claims = [...taken].map(([address, id]) => claimOf(address, id));
    const fresh = claims.filter((claim) => !isManagedAlready(state, claim, false));
    await recordClaims(fresh, { session, now: opened.context.now });
  });
  return quarantined;
}

async function quarantine(opened: OpenWorkspace, lockTimeout: number): Promise<string | undefined> {
  const request = { ...opened.lockRequest('recover', lockTimeout), isStep: true };
  return withLease(opened.store, request, async (lease) => {
    try {
      await lease.read();
    } catch (error) {
      if (error instanceof LostState) return lease.quarantine();
      throw error;
    }
    throw changedMeanwhile(`another run has restored the state ${opened.store.location}`);
  });
}

function changedMeanwhile(change: string): UserError {
  return new UserError(change, { hint: advice`Nothing was recorded. Search again: ${command('recover')}` });
}

/** Returns the resources with an unknown create, including restored creates. */
export function remainingUnknownCreates(
  { unanswered, merged, matches }: Recovery,
  taken: ReadonlyMap<Address, string>,
): Address[] {
  const restored = matches
    .map(({ resource }) => resource.address)
    .filter((address) => merged.pending.has(address) && !taken.has(address));
  return [...unanswered, ...restored];
}

/**
 * Reads the ids of a workspace from migration maps. Invalid rows are skipped.
 * @throws UserError if a map cannot be read.
 */
export async function migratedIds(root: string, workspace: string): Promise<BackupState[]> {
  const folder = path.join(root, MAPS_FOLDER);
  try {
    const files = (await readdir(folder)).filter(
      (file) => file.endsWith('.csv') && mapColumn(file, workspace) !== undefined,
    );
    return await Promise.all(
      files.sort().map(async (file) => {
        const { rows } = readRows(await readFile(path.join(folder, file), 'utf8'), { file, workspace });
        return {
          source: file,
          workspaceId: undefined,
          resources: new Map(rows.map(({ address, id }) => [address, { id }])),
          pending: new Map(),
          orphans: [],
        };
      }),
    );
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return [];
    throw new UserError(`cannot read ${MAPS_FOLDER}: ${errorMessage(error)}`, {
      hint: 'This folder contains the id maps of migrations. Make it readable, or move it away.',
      cause: error,
    });
  }
}
