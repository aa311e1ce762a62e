import type { PublishedRecord, ShownRecord } from '../../kinds/kind.ts';
import { idKey, namedId } from '../../manifests/resource.ts';
import type { NextStep } from '../../problems/next-step.ts';
import type { ResourceEntry } from '../../state/state-document.ts';
import { rootOf } from '../../values/path.ts';
import type { Action } from '../plan/plan-actions.ts';
import type { PlannedChange, PlannedResource, Remark } from '../plan/plan-document.ts';
import { type Binding, isAdopting } from './bind.ts';
import { digestOf } from './compare.ts';
import { creationStep, type Decision, type Facts, formsOf, plannedAs, waiting, without } from './decision.ts';
import { differencesOf } from './differences.ts';
import { ruleOf } from './field-rules.ts';
import { publicationNotices, publishSteps } from './publication.ts';
import {
  AHEAD_WARNING,
  omittedIdsOf,
  releaseWarnings,
  resentFields,
  standIn,
  type UpdateFacts,
  updateWarnings,
} from './resent.ts';
import { stateEntryOf } from './state-entry.ts';
import { manualSteps, referentsClause, unclearWarnings, updateReason } from './wording.ts';
import { keptWarnings } from './write-response.ts';

/** The record that is compared with the manifest. */
interface ComparedRecord {
  /** Undefined if the state entry is used instead. */
  readonly record: ShownRecord | undefined;
  readonly published?: PublishedRecord | undefined;
  /** Set if the record is not the one in the state. */
  readonly found?: FoundBy | undefined;
}

export interface FoundBy {
  /** A clause for the plan. */
  readonly how: string;
  /** True if an unknown create of this state created it. */
  readonly isOurs: boolean;
}

export function decideExisting(facts: Facts, { record, published, found }: ComparedRecord): Decision {
  const { binding, kind, leaves } = facts;
  const adopting = found !== undefined || isAdopting(binding);
  const entry = found === undefined ? binding.entry : undefined;
  const differences = differencesOf({
    kind,
    leaves,
    entry,
    record,
    published,
    adopting,
    ignoreDrift: binding.resource.ignoreDrift,
    retryIgnored: facts.retryIgnored,
    fingerprints: facts.fingerprints,
    owners: facts.records.owners,
  });
  const { notApplied, unclear } = differences;
  const decision = compared({ facts, record, published, differences, adopting, found });
  if (notApplied.size + unclear.length === 0) return decision;
  const { planned, warnings } = decision;
  return {
    ...decision,
    planned: { ...planned, ...(notApplied.size > 0 && { not_applied: [...notApplied.keys()] }) },
    warnings: [...keptWarnings(notApplied), ...unclearWarnings(unclear).map(remark), ...warnings],
  };
}

function compared(input: Omit<ComparedFacts, 'manual'>): Decision {
  const { facts, differences } = input;
  if (facts.missing.length > 0 && differences.changes.length > 0)
    return waiting(facts, facts.missing, differences.changes);

  const manual = differences.changes.filter((change) => change.manual);
  const fixed = differences.changes.filter((change) => ruleOf(facts.kind, change.path).immutable);
  const writable = differences.changes.length - manual.length - fixed.length;
  const outcome: ComparedFacts = { ...input, manual };
  if (fixed.length > 0) return replaced(outcome, fixed);
  if (writable > 0) return updated(outcome);
  return settledAs(outcome);
}

interface ComparedFacts extends UpdateFacts {
  readonly found: FoundBy | undefined;
  readonly manual: readonly PlannedChange[];
}

/** Fields that no update can change differ: the record is replaced, or the resource is blocked. */
function replaced(compared: ComparedFacts, fixed: readonly PlannedChange[]): Decision {
  const { facts, record, differences } = compared;
  const { changes } = differences;
  const fields = fixed.map((change) => change.path).join(', ');
  const id = idOf(compared);
  const others = facts.sameKey.filter((each) => each.id !== record?.id);
  const [sameKeyRecord] = others;
  if (facts.kind.create === undefined && sameKeyRecord === undefined) {
    const reason = `${fields} names a record that is not in the workspace`;
    return without(facts, 'manual', { id, reason, changes, steps: [creationStep(facts)] });
  }
  if (!facts.mayReplace) {
    const { address } = facts.binding.resource;
    const steps: NextStep[] = [{ action: 'replace', address, id }];
    return without(facts, 'blocked', { id, reason: `${fields} cannot be updated`, changes, steps });
  }
  const obstacle = takeoverProblem(facts, others);
  if (obstacle !== undefined) return without(facts, 'blocked', { id, reason: `${fields} ${obstacle}`, changes });
  if (sameKeyRecord !== undefined) {
    const how = `${fields} now names this record instead of ${id}`;
    const decision = decideExisting(facts, { record: sameKeyRecord, found: { how, isOurs: false } });
    return { ...decision, warnings: [...decision.warnings, remark(orphanWarning(id))] };
  }
  return replacedByNew(compared, fields);
}

/** The reason why no record with the natural key can replace this one. */
function takeoverProblem({ kind, records, sameKeyHolder }: Facts, others: readonly ShownRecord[]): string | undefined {
  const [namesake] = others;
  if (others.length > 1) {
    const ids = others.map((each) => each.id).sort();
    const named = ids.map((each) => namedId(each, records.owners.get(idKey(kind.name, each))));
    return `matches ${ids.length} other records: ${named.join(', ')}`;
  }
  if (namesake !== undefined && records.closedOrphans.has(idKey(kind.name, namesake.id)))
    return `names the closed orphan ${namesake.id}: it is not imported automatically`;
  return sameKeyHolder && `names the record of ${sameKeyHolder}, which must release it first`;
}

function replacedByNew(compared: ComparedFacts, fields: string): Decision {
  const { facts, record, differences } = compared;
  const { kind, leaves } = facts;
  const id = idOf(compared);
  const reason = `${fields} cannot be updated: a new record replaces ${id}, which stays on the platform until you delete it`;
  return {
    planned: plannedAs(facts, 'replace', {
      id,
      reason,
      changes: differences.changes,
      desired: formsOf(leaves),
      ...(kind.publishing !== undefined && { steps: publishSteps(kind, undefined, true) }),
      ...digest(facts, record),
    }),
    id: undefined,
    settled: undefined,
    warnings: [remark(orphanWarning(id))],
  };
}

function idOf({ facts, record }: ComparedFacts): string | null {
  return record?.id ?? facts.binding.entry?.id ?? null;
}

function orphanWarning(id: string | null): string {
  return `${id} stays active and becomes an orphan: delete it in the dashboard`;
}

function updated(outcome: ComparedFacts): Decision {
  const { facts, record, published, differences, adopting, found, manual } = outcome;
  const { binding, kind, leaves } = facts;
  const id = idOf(outcome);
  const changed = differences.changes.filter((change) => !change.manual).map((change) => change.path);
  const sending = { leaves, record, changed, ignoreDrift: binding.resource.ignoreDrift };
  const problems =
    record === undefined ? [] : resentFields({ ...sending, kind, record, published: standIn(published) }).problems;
  if (problems.length > 0) {
    return without(facts, 'blocked', { id, reason: problems.join('; '), changes: differences.changes });
  }
  const steps = [...manualSteps(facts, manual, record), ...publishSteps(kind, record)];
  const leftOut = omittedIdsOf(kind, sending, facts.records);
  return {
    planned: plannedAs(facts, 'update', {
      id,
      reason: [found?.how, updateReason(differences.changes, adopting)].filter(Boolean).join('; '),
      changes: differences.changes,
      ...(adopting && { adopted: true as const }),
      ...(steps.length > 0 && { steps }),
      ...observedDetails(facts, { record, differences, hasStep: true }),
      ...digest(facts, record),
      desired: formsOf(leaves),
      ...(leftOut.warnings.length > 0 && { left_out: leftOut.ids }),
    }),
    id: id ?? undefined,
    settled: undefined,
    warnings: [...updateWarnings(outcome, new Set(changed.map(rootOf))), ...leftOut.warnings.map(remark)],
    unchecked: leftOut.unchecked,
  };
}

function settledAs(outcome: ComparedFacts): Decision {
  const { facts, record, published, differences, adopting, found, manual } = outcome;
  const { binding, kind, leaves } = facts;
  const id = idOf(outcome);
  const fresh = binding.entry === undefined || found !== undefined;
  const steps = manualSteps(facts, manual, record);
  const action: Action = fresh ? 'adopt' : steps.length > 0 ? 'manual' : 'noop';
  return {
    planned: plannedAs(facts, action, {
      id,
      reason: settledReason(outcome, action),
      changes: differences.changes,
      ...(fresh && { adopted: true as const, desired: formsOf(leaves), ...digest(facts, record) }),
      ...(steps.length > 0 && { steps }),
      ...observedDetails(facts, { record, differences, hasStep: false }),
    }),
    id: id ?? undefined,
    settled: record === undefined ? undefined : settledEntry(outcome, record, fresh),
    warnings: [
      ...releaseWarnings(kind, record, differences),
      ...(adopting && published?.ahead ? [AHEAD_WARNING] : []),
    ].map(remark),
  };
}

function settledReason({ facts, record, differences, found }: ComparedFacts, action: Action): string {
  const { binding } = facts;
  if (action === 'adopt') return found?.how ?? takenUnder(binding, record);
  if (action === 'manual')
    return [referentsClause(differences.changes), 'the API cannot change this'].filter(Boolean).join('; ');
  if (binding.previousAddress !== undefined) return `renamed from ${binding.previousAddress}`;
  return differences.notApplied.size > 0 ? 'the platform ignored part of the last update' : 'in sync';
}

function takenUnder({ released }: Binding, record: ShownRecord | undefined): string {
  return released === undefined || released.id !== record?.id
    ? 'exists on the platform, not managed yet'
    : `the former record of ${released.address}`;
}

/** The new state entry of a record that needs no write. */
function settledEntry(
  { facts, differences, found, manual }: ComparedFacts,
  record: ShownRecord,
  fresh: boolean,
): ResourceEntry | undefined {
  const { entry } = facts.binding;
  // An import is recorded only once it is complete. Until then, the import continues.
  if (differences.open.length > 0) {
    return fresh ? { id: record.id, adopted: true, recorded: {}, observed: {}, unobserved: [] } : undefined;
  }
  return stateEntryOf({
    kind: facts.kind,
    record,
    settled: differences.settled,
    driftIgnored: differences.driftIgnored,
    notApplied: differences.notApplied.keys(),
    carried: manual.map((change) => change.path),
    previous: found === undefined ? entry : undefined,
    adopted: found === undefined ? fresh || entry?.adopted === true : !found.isOurs,
    fingerprints: facts.fingerprints,
    read: record,
  });
}

function remark(message: string): Remark {
  return { message };
}

/** Details that every planned resource has if its record was read. */
function observedDetails(
  facts: Facts,
  { record, differences, hasStep }: Pick<ComparedFacts, 'record' | 'differences'> & { readonly hasStep: boolean },
): Partial<PlannedResource> {
  const notices = publicationNotices(facts.kind, record, { hasStep });
  return {
    ...(differences.unverified.length > 0 && { unverified: [...differences.unverified] }),
    ...(differences.released.length > 0 && { released: [...differences.released] }),
    ...(notices.length > 0 && { notices }),
  };
}

/** Lets the apply of a saved plan detect whether the record has changed. */
function digest(facts: Facts, record: ShownRecord | undefined): Partial<PlannedResource> {
  if (record === undefined) return {};
  return { observed_digest: digestOf(facts.kind, { record, leaves: facts.leaves, salt: facts.salt }) };
}
