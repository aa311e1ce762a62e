import { claimOf, recordClaims } from '../../engine/apply/import-record.ts';
import type { Address } from '../../manifests/resource.ts';
import { UserError } from '../../problems/user-error.ts';
import { emptyDocument, fold } from '../../state/fold.ts';
import { withLease } from '../../state/session.ts';
import type { State } from '../../state/state.ts';
import { LostState } from '../../state/state-errors.ts';
import type { StateBackup, StateStore } from '../../state/store.ts';
import { VERSION } from '../../version.ts';
import type { OpenWorkspace } from '../open-workspace.ts';
import type { LockOptions } from '../run-options.ts';
import { freshState } from '../state-access.ts';
import type { Recovery } from './find-lost-records.ts';
import { restore } from './merge-backups.ts';

/**
 * The state; where it is lost, why, and what of it stays in force.
 * @throws UserError where what is left of it is of another workspace alone.
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
    const kept = backups.find(({ isInForce }) => isInForce);
    const { resources, pending, orphans } = kept ?? empty;
    const { lineage, salt, serial } = empty;
    return { state: { lineage, salt, serial, workspaceId, resources, pending, orphans }, loss: error };
  }
}

/** What is set aside must have been this workspace's. */
function refuseForeign(backups: readonly StateBackup[], workspaceId: string, store: StateStore): void {
  const whose = backups.flatMap(({ workspaceId: each }) => (each === undefined ? [] : [each]));
  const [first] = whose;
  if (first === undefined || whose.includes(workspaceId)) return;
  throw new UserError(
    `the old state ${store.location} belongs to workspace ${first}, but ${workspaceId} is configured`,
    { hint: `Correct workspace_id, or set another \`${store.setting}\` for this workspace.` },
  );
}

interface Recording extends LockOptions {
  readonly recovery: Recovery;
  /** The id that each address is to have. */
  readonly taken: ReadonlyMap<Address, string>;
  /** The state is lost: what is left of it is set aside first. */
  readonly isLost: boolean;
  now(): Date;
}

/**
 * Puts what was recovered into the state.
 * @returns the folder in which what was left of a lost state is kept.
 */
export async function recordRecovery(
  opened: OpenWorkspace,
  { recovery, taken, isLost, now, ...lock }: Recording,
): Promise<string | undefined> {
  const kept = isLost ? await quarantine(opened, lock.lockTimeout) : undefined;
  // What newer copies of a lost state tell is put into this one.
  const options = { ...lock, allowOlderState: isLost || lock.allowOlderState === true };
  // What was set aside is known to have been this workspace's state.
  await opened.inSession({ operation: 'recover', options, isLost }, async (session) => {
    if (isLost) {
      const declared = new Set(recovery.matches.map(({ resource }) => resource.address));
      await restore(recovery.merged, session, declared);
    }
    const claims = [...taken].map(([address, id]) => claimOf(address, id));
    await recordClaims(claims, { session, now });
  });
  return kept;
}

async function quarantine(opened: OpenWorkspace, lockTimeout: number): Promise<string | undefined> {
  const request = { ...opened.lockRequest('recover', lockTimeout), isStep: true };
  return withLease(opened.store, request, (lease) => lease.quarantine());
}

/** Resources whose create has had no clear answer: those of the lost state included that were put back. */
export function unansweredNow(
  { unanswered, merged, matches }: Recovery,
  taken: ReadonlyMap<Address, string>,
): Address[] {
  const back = matches
    .map(({ resource }) => resource.address)
    .filter((address) => merged.pending.has(address) && !taken.has(address));
  return [...unanswered, ...back];
}
