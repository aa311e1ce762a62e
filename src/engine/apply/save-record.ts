import type { Kind, ShownRecord } from '../../kinds/kind.ts';
import { ForeignRecord } from '../../platform/workspace-check.ts';
import { type Orphan, orphanOf, type ResourceEntry } from '../../state/state-document.ts';
import { jsonEqual } from '../../values/json.ts';
import { isUnder, type LeafPath, type Leaves, rootOf } from '../../values/path.ts';
import { isTainted, revealSecrets, type Value } from '../../values/value.ts';
import { sameValue } from '../decide/compare.ts';
import { recordedKey, ruleOf, valueInRecord } from '../decide/field-rules.ts';
import {
  baselineOf,
  type EntryFacts,
  recordedOf,
  stateEntryOf,
  valuesToMask,
  wasIgnored,
} from '../decide/state-entry.ts';
import { differencesFromSent, type ValuesAfterWrite, valuesAfterCreate } from '../decide/write-response.ts';
import { createRecheck } from '../observe/recheck.ts';
import type { PlannedChange } from '../plan/plan-document.ts';
import { type ResourceWrite, UnsavedRecord } from './writing.ts';

interface SavedRecord extends Pick<EntryFacts, 'record' | 'driftIgnored' | 'previous' | 'adopted'> {
  /** The record before an update. */
  readonly before?: ShownRecord;
  /** The leaves that count as applied from now on. */
  readonly leaves: Leaves;
  readonly sent: Leaves;
}

/**
 * Saves a record in the state entry of its resource, and returns the record's id.
 * @throws UnsavedRecord if the state cannot be written.
 * @throws ForeignRecord if the record belongs to another workspace.
 */
export async function saveRecord(facts: ResourceWrite, saved: SavedRecord): Promise<string> {
  const { record, before, leaves, sent, driftIgnored, previous, adopted } = saved;
  const after = before && (await readAfterUpdate(facts, { ...saved, before }));
  const { kind, planned, session, fingerprints } = facts;
  const actual = record.workspace_id ?? facts.workspaceId;
  try {
    const records = after?.records ?? [record];
    await fingerprints.prepare(
      records.flatMap((each) => [...valuesToMask(kind, { leaves, record: each, entry: previous })]),
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
    const stored = session.record({ type: 'saved', address, entry, ...replacedOrphan(facts, record.id) });
    if (actual === facts.workspaceId) facts.onRecorded();
    await stored;
  } catch (error) {
    throw new UnsavedRecord(planned.address, record.id, { cause: error });
  }
  if (after !== undefined) facts.ignored(after.notApplied);
  for (const warning of differencesFromSent(kind, sent, after ?? valuesAfterCreate(kind, record))) facts.warn(warning);
  if (actual !== facts.workspaceId) {
    throw new ForeignRecord(
      `${planned.address} was written as ${record.id} in workspace ${actual}, but this run is for ${facts.workspaceId}`,
    );
  }
  return record.id;
}

/** Returns the orphan entry of a record that a new one replaces, if any. For a missing record, saving the entry adds the orphan. */
export function replacedOrphan(facts: ResourceWrite, id: string): { readonly orphan?: Orphan } {
  const { observation, session, planned } = facts;
  const before = session.state.resources.get(planned.address);
  const pending = session.state.pending.get(planned.address);
  const wasFoundMissing = planned.recreates !== undefined || (observation?.status === 'shown' && observation.successor);
  // A pending create records whether it replaces this record or was sent because this record is missing.
  const isMissing = pending === undefined ? wasFoundMissing : pending.replaces !== before?.id;
  if (before === undefined || before.id === id || isMissing) return {};
  return { orphan: orphanFor(facts, { id: before.id, reason: 'replaced' }) };
}

/** Returns the orphan entry of a record that the plan releases or replaces. */
export function orphanFor(
  { planned, kind, session, now }: ResourceWrite,
  { id, reason }: Pick<Orphan, 'id' | 'reason'>,
): Orphan {
  const { address } = planned;
  const entry = session.state.resources.get(address);
  const natural_key = recordedKey(kind, entry);
  return orphanOf(address, { id, reason, since: now().toISOString(), natural_key });
}

type Updated = SavedRecord & { readonly before: ShownRecord };

interface AfterUpdate extends ValuesAfterWrite {
  /** The record as read after the update. */
  readonly read: ShownRecord | undefined;
  /** All records of the responses, whose secrets must be masked. */
  readonly records: readonly ShownRecord[];
}

/**
 * Determines the result of an update from its response. Reads the record once more if the response lacks fields that reads return, or if
 * the update reverts drift. If that read fails, fields remain unverified, but the update does not fail.
 */
async function readAfterUpdate(facts: ResourceWrite, updated: Updated): Promise<AfterUpdate> {
  const { kind, planned } = facts;
  const { before, record: response, leaves, sent, previous: entry } = updated;
  const reread = mustReadAgain(kind, updated, planned.changes) ? await readAgain(facts, before.id) : undefined;

  const shown = (path: LeafPath): unknown => {
    const [oldValue, responded, read] = [before, response, reread].map((record) => valueInRecord(kind, record, path));
    // Fields that were not sent keep their last observed value, so that a change by someone else is still detected.
    if (!sent.has(path)) return oldValue === undefined ? responded : oldValue;
    if (responded === undefined) return read;
    if (read === undefined) return responded;
    // The response may be wrong, or the read may be outdated. The next read resolves this.
    const desired = revealSecrets(sent.get(path) ?? null);
    const rule = ruleOf(kind, path);
    return sameValue(rule, read, desired) || sameValue(rule, read, oldValue) ? read : responded;
  };
  const changed = new Set(planned.changes.map(({ path }) => path));
  const isDriftIgnored = (path: LeafPath): boolean =>
    (planned.ignore_drift ?? []).some((prefix) => isUnder(path, prefix));
  const isNotApplied = ([path, value]: readonly [LeafPath, Value]): boolean => {
    const rule = ruleOf(kind, path);
    if (rule.hidden || rule.manual || isDriftIgnored(path)) return false;
    if (!wasIgnored(entry, path) && !(sent.has(path) && changed.has(path) && isUnmasked(entry, path, value)))
      return false;
    const [oldValue, newValue] = [valueInRecord(kind, before, path), shown(path)];
    if (newValue === undefined || oldValue === undefined) return false;
    return sameValue(rule, newValue, oldValue) && !sameValue(rule, newValue, revealSecrets(value));
  };
  return {
    read: reread,
    records: [before, response, ...(reread === undefined ? [] : [reread])],
    notApplied: new Set([...leaves].filter(isNotApplied).map(([path]) => path)),
    shown,
    showsObject: (root) => [response, reread].some((record) => (record?.[root] ?? null) !== null),
  };
}

/** Returns false if the platform may return a mask of a secret. A mask does not change when the secret does. */
function isUnmasked(entry: ResourceEntry | undefined, path: LeafPath, value: Value): boolean {
  if (!isTainted(value)) return true;
  const recorded = recordedOf(entry, path);
  return recorded !== undefined && jsonEqual(recorded, baselineOf(entry, path));
}

function mustReadAgain(
  kind: Kind,
  { before, record: response, sent, previous: entry }: Updated,
  changes: readonly PlannedChange[],
): boolean {
  // The response to the last update may have contained the sent value although reads return another value.
  if (changes.some(({ path, cause, not_applied }) => sent.has(path) && (cause !== 'manifest' || not_applied)))
    return true;
  if (kind.get === undefined) return false;
  return [...sent.keys()].some((path) => {
    if (ruleOf(kind, path).hidden || valueInRecord(kind, response, path) !== undefined) return false;
    if (wasIgnored(entry, path) || valueInRecord(kind, before, path) !== undefined) return true;
    const root = rootOf(path);
    return before[root] !== undefined && response[root] === undefined && !ruleOf(kind, path).writeOnly;
  });
}

/** Reads a record right after a write. Returns undefined if that fails, because the write has succeeded. */
export async function readAgain(facts: ResourceWrite, id: string): Promise<ShownRecord | undefined> {
  const { at } = createRecheck(facts, { maxAgeMilliseconds: 0, now: facts.now });
  const observation = await at(facts.kind, id).catch(() => undefined);
  return observation?.status === 'shown' ? observation.record : undefined;
}
