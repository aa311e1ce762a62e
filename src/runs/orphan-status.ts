import { eachConcurrently } from '../engine/observe/each-concurrently.ts';
import type { ObserveOptions } from '../engine/observe/read-records.ts';
import { createRecheck, type Recheck } from '../engine/observe/recheck.ts';
import { kindNamed } from '../kinds/index.ts';
import { kindOf } from '../manifests/resource.ts';
import type { State } from '../state/state.ts';
import type { Orphan } from '../state/state-document.ts';
import type { LockOptions } from './run-context.ts';
import type { StateAccess } from './state-access.ts';

/** An orphan, with the result of a check on the platform. */
export interface OrphanStatus extends Orphan {
  /** Null if the orphan was not checked, or if the record belongs to another workspace. */
  readonly exists: boolean | null;
}

export type RecordReads = Pick<ObserveOptions, 'client' | 'workspaceId' | 'concurrency'>;

/** The number of managed records in the sample. */
const SAMPLE_SIZE = 3;

/**
 * True if any of the orphans or of a sample of the managed records exists on the platform, or if there are no managed records. Otherwise, a
 * wrong API key or address is more likely than the deletion of all records.
 */
export async function isRightPlatform(
  checked: readonly OrphanStatus[],
  { resources }: Pick<State, 'resources'>,
  reads: RecordReads,
): Promise<boolean> {
  if (resources.size === 0 || checked.some(({ exists }) => exists)) return true;
  const recheck = recheckOnce(reads);
  for (const [address, { id }] of [...resources].slice(0, SAMPLE_SIZE)) {
    const { status } = await recheck.at(kindNamed(kindOf(address)), id);
    if (status === 'shown') return true;
  }
  return false;
}

/** Checks whether each orphan still exists, with one list for each listed kind and one read for each other record. */
export async function checkOrphans(orphans: readonly Orphan[], reads: RecordReads): Promise<OrphanStatus[]> {
  const recheck = recheckOnce(reads);
  const existing = new Map<Orphan, boolean>();
  await eachConcurrently(orphans, reads.concurrency, async (orphan) => {
    const { status } = await recheck.at(kindNamed(orphan.kind), orphan.id);
    if (status === 'shown' || status === 'missing') existing.set(orphan, status === 'shown');
  });
  return orphans.map((orphan) => ({ ...orphan, exists: existing.get(orphan) ?? null }));
}

function recheckOnce(reads: RecordReads): Recheck {
  return createRecheck(reads, { maxAgeMilliseconds: Number.POSITIVE_INFINITY, now: () => new Date(0) });
}

/** Closes the requested orphans that are still in the state, under the lock. Returns their ids. */
export async function closeInState(
  opened: Pick<StateAccess, 'inSession'>,
  requested: readonly Orphan[],
  { askedBy, ...options }: LockOptions & { readonly askedBy?: string },
): Promise<readonly string[]> {
  return opened.inSession({ operation: 'orphans close', options }, async (session) => {
    if (askedBy !== undefined) session.note({ asked_by: askedBy });
    const now = session.state.orphans;
    const remaining = requested.filter(({ kind, id }) => now.some((each) => each.kind === kind && each.id === id));
    for (const orphan of remaining) await session.record({ type: 'closed', orphan });
    return remaining.map(({ id }) => id);
  });
}
