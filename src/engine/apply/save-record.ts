import type { ShownRecord } from '../../kinds/kind.ts';
import { ForeignRecord } from '../../platform/workspace-check.ts';
import { type Orphan, orphanOf, type ResourceEntry } from '../../state/state-document.ts';
import { type LeafPath, type Leaves, rootOf } from '../../values/path.ts';
import { recordedKey } from '../decide/field-rules.ts';
import { stateEntryOf, textsToMask } from '../decide/state-entry.ts';
import { differencesFromSent, shownBy } from '../decide/write-response.ts';
import type { AfterUpdate } from './after-update.ts';
import { type ResourceWrite, UnsavedRecord } from './writing.ts';

interface SavedRecord {
  readonly record: ShownRecord;
  /** The leaves that count as applied from now on. */
  readonly leaves: Leaves;
  /** Those of them that were sent. */
  readonly sent: Leaves;
  /** Those of them that others may have set. */
  readonly driftIgnored: ReadonlySet<LeafPath>;
  /** What reads showed after an update; absent if only the record is known. */
  readonly after?: AfterUpdate;
  readonly previous: ResourceEntry | undefined;
  readonly adopted: boolean;
}

/**
 * Saves a record in the state as that of its resource, and returns its id.
 * @throws UnsavedRecord if the state cannot be written.
 * @throws ForeignRecord if the record belongs to another workspace.
 */
export async function saveRecord(
  facts: ResourceWrite,
  { record, leaves, sent, driftIgnored, after, previous, adopted }: SavedRecord,
): Promise<string> {
  const { kind, planned, session, fingerprints } = facts;
  const actual = record.workspace_id ?? facts.workspaceId;
  try {
    const records = after?.records ?? [record];
    await fingerprints.prepare(
      records.flatMap((each) => [...textsToMask(kind, { leaves, record: each, entry: previous })]),
    );
    const entry = stateEntryOf({
      kind,
      record,
      settled: leaves,
      carried: planned.changes
        .filter((change) => change.manual && !leaves.has(change.path))
        .map((change) => change.path),
      driftIgnored,
      notApplied: after?.notApplied ?? [],
      ...(after !== undefined && { shown: after.shown }),
      read: after?.read,
      resent: [...new Set([...sent.keys()].map(rootOf))],
      previous,
      adopted,
      fingerprints,
    });
    const { address } = planned;
    const stored = session.record({ type: 'saved', address, entry, ...displacedBy(facts, record.id) });
    if (actual === facts.workspaceId) facts.onRecorded();
    await stored;
  } catch (error) {
    throw new UnsavedRecord(planned.address, record.id, { cause: error });
  }
  if (after !== undefined) facts.ignored(after.notApplied);
  for (const warning of differencesFromSent(kind, sent, after ?? shownBy(kind, record))) facts.warn(warning);
  if (actual !== facts.workspaceId) {
    throw new ForeignRecord(
      `${planned.address} was written as ${record.id} in workspace ${actual}, but this run is for ${facts.workspaceId}`,
    );
  }
  return record.id;
}

/** The record that another one replaces. The state lists a missing one as an orphan by itself. */
export function displacedBy(facts: ResourceWrite, id: string): { readonly orphan?: Orphan } {
  const { observation, session, planned } = facts;
  const before = session.state.resources.get(planned.address);
  const pending = session.state.pending.get(planned.address);
  const isSeenGone = planned.recreates !== undefined || (observation?.status === 'shown' && observation.successor);
  // A pending create records whether it was to replace this record or was sent because it was gone.
  const isGone = pending === undefined ? isSeenGone : pending.replaces !== before?.id;
  if (before === undefined || before.id === id || isGone) return {};
  return { orphan: orphaned(facts, { id: before.id, reason: 'replaced' }) };
}

/** The orphan that a planned resource leaves. */
export function orphaned(
  { planned, kind, session, now }: ResourceWrite,
  { id, reason }: Pick<Orphan, 'id' | 'reason'>,
): Orphan {
  const { address } = planned;
  const entry = session.state.resources.get(address);
  const natural_key = recordedKey(kind, entry);
  return orphanOf(address, { id, reason, since: now().toISOString(), natural_key });
}
