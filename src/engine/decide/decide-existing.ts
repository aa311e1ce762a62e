import type { PublishedRecord, ShownRecord } from '../../kinds/kind.ts';
import { idKey, namedId } from '../../manifests/resource.ts';
import type { NextStep } from '../../problems/next-step.ts';
import type { ResourceEntry } from '../../state/state-document.ts';
import type { JsonObject } from '../../values/json.ts';
import { type LeafPath, rootOf } from '../../values/path.ts';
import { Reference } from '../../values/value.ts';
import type { Action } from '../plan/plan-actions.ts';
import type { PlannedChange, PlannedResource, Remark } from '../plan/plan-document.ts';
import { type Binding, isAdopting } from './bind.ts';
import { hiddenFieldWarnings, omittedIdsOf, resentFields, standIn, type UpdateFacts, updateWarnings } from './body.ts';
import { digestOf } from './compare.ts';
import {
  creationStep,
  type Decision,
  decisionWithoutWrite,
  type Facts,
  formsOf,
  plainLeaves,
  toPlannedResource,
  waitFor,
} from './decision.ts';
import { differencesOf } from './differences.ts';
import { leavesOf, ruleOf } from './field-rules.ts';
import { publicationNotices, publishSteps } from './publication.ts';
import { importedEntry, stateEntryOf } from './state-entry.ts';
import { ignoredUpdateWarnings } from './write-response.ts';

/** The record that is compared with the manifest. */
interface ComparedRecord {
  /** Undefined if the state entry is used instead. */
  readonly record: ShownRecord | undefined;
  readonly published?: PublishedRecord | undefined;
  /** Set if this record is not the record in the state. */
  readonly found?: FoundBy | undefined;
}

interface FoundBy {
  /** A clause for the plan that explains how the record was found. */
  readonly how: string;
  /** True if an unknown create of this state created the record. */
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
  const { notApplied, unclear, changes } = differences;
  const manual = changes.filter((change) => change.manual);
  const decision = chooseDecision({ facts, record, published, differences, adopting, found, manual });
  const { planned, warnings } = decision;
  return {
    ...decision,
    planned: { ...planned, ...(notApplied.size > 0 && { not_applied: [...notApplied.keys()] }) },
    warnings: [...ignoredUpdateWarnings(notApplied), ...unclearWarnings(unclear), ...warnings],
  };
}

function chooseDecision(compared: ComparedFacts): Decision {
  const { facts, differences, manual } = compared;
  const { changes } = differences;
  if (facts.missing.length > 0 && changes.length > 0) return waitFor(facts, facts.missing, changes);
  const immutable = changes.filter((change) => ruleOf(facts.kind, change.path).immutable);
  if (immutable.length > 0) return decideReplace(compared, immutable);
  return changes.length > manual.length ? decideUpdate(compared) : decideSettled(compared);
}

interface ComparedFacts extends UpdateFacts {
  readonly found: FoundBy | undefined;
  readonly manual: readonly PlannedChange[];
}

/** Replaces the record or blocks the resource, because fields differ that an update cannot change. */
function decideReplace(compared: ComparedFacts, immutable: readonly PlannedChange[]): Decision {
  const { facts, record, differences } = compared;
  const { changes } = differences;
  const fields = immutable.map((change) => change.path).join(', ');
  const id = idOf(compared);
  const others = facts.sameKey.filter((each) => each.id !== record?.id);
  const [sameKeyRecord] = others;
  if (facts.kind.create === undefined && sameKeyRecord === undefined) {
    const reason = `the workspace has no record with this ${fields}`;
    return decisionWithoutWrite(facts, 'manual', { id, reason, changes, steps: [creationStep(facts)] });
  }
  if (!facts.mayReplace) {
    const { address } = facts.binding.resource;
    const steps: NextStep[] = [{ action: 'replace', address, id }];
    return decisionWithoutWrite(facts, 'blocked', { id, reason: `${fields} cannot be updated`, changes, steps });
  }
  const obstacle = takeoverProblem(facts, others);
  if (obstacle !== undefined)
    return decisionWithoutWrite(facts, 'blocked', { id, reason: `${fields} ${obstacle}`, changes });
  const orphanWarning = { message: `${id} stays active and becomes an orphan: delete it in the dashboard` };
  if (sameKeyRecord !== undefined) {
    const how = `${fields} now identifies this record instead of ${id}`;
    const decision = decideExisting(facts, { record: sameKeyRecord, found: { how, isOurs: false } });
    return { ...decision, warnings: [...decision.warnings, orphanWarning] };
  }
  const reason = `${fields} cannot be updated: a new record replaces ${id}, which stays on the platform until you delete it`;
  return {
    planned: toPlannedResource(facts, 'replace', {
      id,
      reason,
      changes,
      desired: formsOf(facts.leaves),
      ...(facts.kind.publishing !== undefined && { steps: publishSteps(facts.kind, undefined, true) }),
      ...digestDetails(facts, record),
    }),
    id: undefined,
    settled: undefined,
    warnings: [orphanWarning],
  };
}

/** Returns the reason why other records with the same natural key prevent a replacement, if any. */
function takeoverProblem(
  { kind, records, sameKeyHolder }: Facts,
  sameKeyRecords: readonly ShownRecord[],
): string | undefined {
  const [sameKeyRecord] = sameKeyRecords;
  if (sameKeyRecords.length > 1) {
    const ids = sameKeyRecords.map((each) => each.id).sort();
    const named = ids.map((each) => namedId(each, records.owners.get(idKey(kind.name, each))));
    return `matches ${ids.length} other records: ${named.join(', ')}`;
  }
  if (sameKeyRecord !== undefined && records.closedOrphans.has(idKey(kind.name, sameKeyRecord.id)))
    return `identifies the closed orphan ${sameKeyRecord.id}, which is not imported automatically`;
  return sameKeyHolder && `identifies the record of ${sameKeyHolder}, which must release it first`;
}

function idOf({ facts, record }: ComparedFacts): string | null {
  return record?.id ?? facts.binding.entry?.id ?? null;
}

function decideUpdate(outcome: ComparedFacts): Decision {
  const { facts, record, published, differences, adopting, found, manual } = outcome;
  const { binding, kind, leaves } = facts;
  const id = idOf(outcome);
  const changed = differences.changes.filter((change) => !change.manual).map((change) => change.path);
  const sending = { leaves, record, changed, ignoreDrift: binding.resource.ignoreDrift };
  const problems =
    record === undefined ? [] : resentFields({ ...sending, kind, record, published: standIn(published) }).problems;
  if (problems.length > 0) {
    return decisionWithoutWrite(facts, 'blocked', { id, reason: problems.join('; '), changes: differences.changes });
  }
  const steps = [...manualSteps(facts, manual, record), ...publishSteps(kind, record)];
  const omitted = omittedIdsOf(kind, sending, facts.records);
  return {
    planned: toPlannedResource(facts, 'update', {
      id,
      reason: [found?.how, updateReason(differences.changes, adopting)].filter(Boolean).join('; '),
      changes: differences.changes,
      ...(adopting && { adopted: true as const }),
      ...(steps.length > 0 && { steps }),
      ...observedDetails(facts, { record, differences, hasStep: true }),
      ...digestDetails(facts, record),
      desired: formsOf(leaves),
      ...(omitted.warnings.length > 0 && { left_out: omitted.ids }),
    }),
    id: id ?? undefined,
    settled: undefined,
    warnings: [...updateWarnings(outcome, new Set(changed.map(rootOf))), ...omitted.warnings],
    unchecked: omitted.unchecked,
  };
}

function decideSettled(outcome: ComparedFacts): Decision {
  const { facts, record, differences, found, manual } = outcome;
  const { binding, leaves } = facts;
  const id = idOf(outcome);
  const isImport = binding.entry === undefined || found !== undefined;
  const steps = manualSteps(facts, manual, record);
  const action: Action = isImport ? 'adopt' : steps.length > 0 ? 'manual' : 'noop';
  return {
    planned: toPlannedResource(facts, action, {
      id,
      reason: settledReason(outcome, action),
      changes: differences.changes,
      ...(isImport && { adopted: true as const, desired: formsOf(leaves), ...digestDetails(facts, record) }),
      ...(steps.length > 0 && { steps }),
      ...observedDetails(facts, { record, differences, hasStep: false }),
    }),
    id: id ?? undefined,
    settled: record === undefined ? undefined : settledEntry(outcome, record, isImport),
    warnings: hiddenFieldWarnings(outcome),
  };
}

function settledReason({ facts, record, differences, found }: ComparedFacts, action: Action): string {
  const { binding } = facts;
  if (action === 'adopt') return found?.how ?? importReason(binding, record);
  if (action === 'manual')
    return [referentsClause(differences.changes), 'the API cannot change this'].filter(Boolean).join('; ');
  if (binding.previousAddress !== undefined) return `renamed from ${binding.previousAddress}`;
  return differences.notApplied.size > 0 ? 'the platform ignored part of the last update' : 'in sync';
}

function importReason({ released }: Binding, record: ShownRecord | undefined): string {
  return released === undefined || released.id !== record?.id
    ? 'exists on the platform, not managed yet'
    : `the former record of ${released.address}`;
}

/** Returns the new state entry of a record that needs no write. */
function settledEntry(
  { facts, differences, found, manual }: ComparedFacts,
  record: ShownRecord,
  isImport: boolean,
): ResourceEntry | undefined {
  const { entry } = facts.binding;
  // While desired values are unknown, only the id of an imported record is saved. The next plan continues the import.
  if (differences.open.length > 0) return isImport ? importedEntry(record.id) : undefined;
  return stateEntryOf({
    kind: facts.kind,
    record,
    settled: differences.settled,
    driftIgnored: differences.driftIgnored,
    notApplied: differences.notApplied.keys(),
    carried: manual.map((change) => change.path),
    previous: found === undefined ? entry : undefined,
    adopted: found === undefined ? isImport || entry?.adopted === true : !found.isOurs,
    fingerprints: facts.fingerprints,
    read: record,
  });
}

/** Returns the details of a planned resource that come from the comparison with its record. */
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

/** Returns the digest by which the apply of a saved plan detects a changed record. */
function digestDetails(facts: Facts, record: ShownRecord | undefined): Partial<PlannedResource> {
  if (record === undefined) return {};
  return { observed_digest: digestOf(facts.kind, { record, leaves: facts.leaves, salt: facts.salt }) };
}

function updateReason(changes: readonly PlannedChange[], adopting: boolean): string {
  if (!adopting && changes.every((change) => change.not_applied)) return 'resent: the platform ignored the last update';
  const referents = referentsClause(changes);
  const others = changes.filter((change) => change.referents === undefined);
  if (referents !== undefined)
    return [referents, ...(others.length === 0 ? [] : [updateReason(others, adopting)])].join('; ');
  const causes = new Set(changes.map((change) => change.cause));
  if (adopting) return 'exists on the platform and differs from the manifest';
  if (causes.has('both')) return "the manifest and the platform both changed: this overwrites someone else's change";
  if (causes.size === 2) return 'the manifest changed, and other fields drifted';
  return causes.has('drift') ? 'the platform drifted from the manifest' : 'the manifest changed';
}

/** Returns a clause about references whose target has a new record although neither the manifest nor this record changed. */
function referentsClause(changes: readonly PlannedChange[]): string | undefined {
  const addresses = [...new Set(changes.flatMap(({ referents = [] }) => referents))].sort();
  if (addresses.length === 0) return undefined;
  const clauseEnd = addresses.length === 1 ? 'has a new record' : 'have new records';
  return `refers to ${addresses.join(', ')}, which ${clauseEnd}`;
}

/** Returns a manual step for each change. */
export function manualSteps(
  { kind, leaves, binding, gone, records }: Pick<Facts, 'kind' | 'leaves' | 'binding' | 'gone' | 'records'>,
  changes: readonly PlannedChange[],
  record: ShownRecord | undefined,
): NextStep[] {
  if (changes.length === 0) return [];
  const named = leavesOf(kind, binding.resource.spec);
  const plain = plainLeaves(leaves);
  const shownFields = { ...(record as JsonObject | undefined), ...plain };
  // The label must not use the record from the platform, which may contain a secret of the manifest.
  const label = (kind.routes?.label ?? kind.label)({ ...plain, id: record?.id ?? binding.resource.name });
  return changes.map(({ path, before, after }): NextStep => {
    const reference = named.get(path);
    if (reference instanceof Reference && gone.has(reference.address))
      return { action: 'wait_for', address: reference.address, because: 'missing', path };
    const { refersTo } = ruleOf(kind, path);
    const isId = refersTo !== undefined && typeof after === 'string';
    const owner =
      reference instanceof Reference
        ? reference.address
        : isId
          ? records.owners.get(idKey(refersTo, after))
          : undefined;
    const valueText = isId
      ? namedId(after, owner)
      : (owner ?? (after === undefined ? '(secret)' : JSON.stringify(after)));
    const instruction =
      kind.manualChangeStep?.({ path, record: shownFields, before, after: valueText }) ??
      `In the dashboard, set ${path} to ${valueText}.`;
    const field = kind.routes?.ways[path] ?? path;
    const value = after === null ? null : (owner ?? (typeof after === 'string' ? after : valueText));
    return { action: 'dashboard', instruction, sets: { record: label, field, value } };
  });
}

/** Returns warnings about fields that were not read right after they were sent and now have another value. */
function unclearWarnings(paths: readonly LeafPath[]): Remark[] {
  return paths.map((path) => ({
    message: `${path} differs, but it could not be read after the last apply: the platform or a person may have changed it.`,
  }));
}
