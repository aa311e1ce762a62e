import type { Kind, ShownRecord } from '../../kinds/kind.ts';
import type { ResourceEntry } from '../../state/state-document.ts';
import { jsonEqual } from '../../values/json.ts';
import { isUnder, type LeafPath, type Leaves, rootOf } from '../../values/path.ts';
import { isTainted, revealed, type Value } from '../../values/value.ts';
import { sameValue } from '../decide/compare.ts';
import { ruleOf, shownAt } from '../decide/field-rules.ts';
import { baselineOf, isKept, recordedOf } from '../decide/state-entry.ts';
import type { ShownAfter } from '../decide/write-response.ts';
import { getRecord } from '../observe/read-records.ts';
import type { PlannedChange } from '../plan/plan-document.ts';
import type { ResourceWrite } from './writing.ts';

interface Updated {
  readonly before: ShownRecord;
  readonly answer: ShownRecord;
  readonly leaves: Leaves;
  readonly sent: Leaves;
  readonly entry: ResourceEntry | undefined;
}

export interface AfterUpdate extends ShownAfter {
  /** The record as a read after the update showed it. */
  readonly read: ShownRecord | undefined;
  /** All records of the answers, for the redactor. */
  readonly records: readonly ShownRecord[];
}

/**
 * Determines the result of an update from its answer. If the answer hides fields that reads show, or if the update was to repair drift,
 * it reads the record once more. A failed read leaves fields unverified, but never makes the update fail.
 */
export async function readAfterUpdate(facts: ResourceWrite, updated: Updated): Promise<AfterUpdate> {
  const { kind, planned } = facts;
  const { before, answer, leaves, sent, entry } = updated;
  const again = readsAgain(kind, updated, planned.changes) ? await readAgain(facts, before.id) : undefined;

  const shown = (path: LeafPath): unknown => {
    const [was, answered, read] = [before, answer, again].map((record) => shownAt(kind, record, path));
    // Fields that were not sent keep their last observed value: a change by someone else must remain a difference.
    if (!sent.has(path)) return was === undefined ? answered : was;
    if (answered === undefined) return read;
    if (read === undefined) return answered;
    // Either the answer is wrong or the read lags behind. The next read decides.
    const desired = revealed(sent.get(path) ?? null);
    const rule = ruleOf(kind, path);
    return sameValue(rule, read, desired) || sameValue(rule, read, was) ? read : answered;
  };
  const changed = new Set(planned.changes.map(({ path }) => path));
  const isFree = (path: LeafPath): boolean => (planned.ignore_drift ?? []).some((prefix) => isUnder(path, prefix));
  const isNotApplied = ([path, value]: readonly [LeafPath, Value]): boolean => {
    const rule = ruleOf(kind, path);
    if (rule.hidden || rule.manual || isFree(path)) return false;
    if (!isKept(entry, path) && !(sent.has(path) && changed.has(path) && showsPlainly(entry, path, value)))
      return false;
    const [was, is] = [shownAt(kind, before, path), shown(path)];
    if (is === undefined || was === undefined) return false;
    return sameValue(rule, is, was) && !sameValue(rule, is, revealed(value));
  };
  return {
    read: again,
    records: [before, answer, ...(again === undefined ? [] : [again])],
    notApplied: new Set([...leaves].filter(isNotApplied).map(([path]) => path)),
    shown,
    showsObject: (root) => [answer, again].some((record) => (record?.[root] ?? null) !== null),
  };
}

/** A value shown in place of a secret may be a mask that never changes. */
function showsPlainly(entry: ResourceEntry | undefined, path: LeafPath, value: Value): boolean {
  if (!isTainted(value)) return true;
  const recorded = recordedOf(entry, path);
  return recorded !== undefined && jsonEqual(recorded, baselineOf(entry, path));
}

function readsAgain(kind: Kind, { before, answer, sent, entry }: Updated, changes: readonly PlannedChange[]): boolean {
  if (kind.get === undefined) return false;
  // The answer to the last update may have claimed success while reads show another value.
  if (changes.some(({ path, cause, not_applied }) => sent.has(path) && (cause !== 'manifest' || not_applied)))
    return true;
  return [...sent.keys()].some((path) => {
    if (ruleOf(kind, path).hidden || shownAt(kind, answer, path) !== undefined) return false;
    if (isKept(entry, path) || shownAt(kind, before, path) !== undefined) return true;
    const root = rootOf(path);
    return before[root] !== undefined && answer[root] === undefined && !ruleOf(kind, path).writeOnly;
  });
}

async function readAgain({ kind, client, workspaceId }: ResourceWrite, id: string): Promise<ShownRecord | undefined> {
  try {
    const observation = await getRecord(kind, { id, client, workspaceId });
    return observation.status === 'shown' && observation.record.id === id ? observation.record : undefined;
  } catch {
    return undefined;
  }
}
