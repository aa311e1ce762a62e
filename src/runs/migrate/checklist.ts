import type { ResourceResult } from '../../engine/apply/apply-report.ts';
import { leavesOf } from '../../engine/decide/field-rules.ts';
import { isUnconfirmed, type PlanDocument, type PlannedResource } from '../../engine/plan/plan-document.ts';
import { kindNamed } from '../../kinds/index.ts';
import type { Kind } from '../../kinds/kind.ts';
import type { FieldRule } from '../../manifests/kind-schema.ts';
import type { Address, Resource } from '../../manifests/resource.ts';
import type { NextStep } from '../../problems/next-step.ts';
import { UNCONFIRMED_CREATE_STEPS } from '../../problems/unconfirmed-steps.ts';
import { rootOf, valueAt } from '../../values/path.ts';
import { isTainted, toForms } from '../../values/value.ts';

/** `must`: a task before any write. `waits`: a task that blocks some resources. `know`: a note. `after`: a task after the migration. */
type ChecklistMoment = 'must' | 'waits' | 'know' | 'after';

/** A task or a note. */
type ChecklistContent =
  | { readonly text: string }
  | { readonly step: NextStep }
  /** A clause about a record. */
  | { readonly notice: string }
  /** A problem that only a person can resolve. It has an address if it concerns one resource. */
  | { readonly address?: Address; readonly reason: string; readonly steps: readonly NextStep[] };

export interface ChecklistItem {
  readonly moment: ChecklistMoment;
  readonly content: ChecklistContent;
  /** The affected resources. */
  readonly addresses: readonly Address[];
}

/** Collects items. Equal items of several resources are merged. */
export class Checklist {
  readonly #items = new Map<string, { moment: ChecklistMoment; content: ChecklistContent; addresses: Set<Address> }>();

  add(moment: ChecklistMoment, given: ChecklistContent | string, ...addresses: readonly Address[]): void {
    const content = typeof given === 'string' ? { text: given } : given;
    const key = JSON.stringify([moment, content]);
    const item = this.#items.get(key) ?? { moment, content, addresses: new Set<Address>() };
    for (const address of addresses) item.addresses.add(address);
    this.#items.set(key, item);
  }

  of(...moments: readonly ChecklistMoment[]): ChecklistItem[] {
    return [...this.#items.values()]
      .filter(({ moment }) => moments.includes(moment))
      .map(({ addresses, ...item }) => ({ ...item, addresses: [...addresses].sort() }));
  }
}

interface MigrationPlan {
  readonly document: PlanDocument;
  /** The migrated resources of the target workspace. */
  readonly resources: readonly Resource[];
  /** Ids of the records in the source workspace. */
  readonly oldIds: ReadonlyMap<Address, string>;
  /** The name of the source workspace. */
  readonly from: string;
}

/** Adds the manual steps of a plan, and notes for its approval. */
export function checkPlan(list: Checklist, planned: MigrationPlan): void {
  const { document, resources, oldIds } = planned;
  const specs = new Map(resources.map((resource) => [resource.address, resource]));
  const unconfirmed = manyUnconfirmed(document);
  for (const each of document.resources) {
    const { address, kind: name, action, id, reason, adopted, steps = [] } = each;
    const kind = kindNamed(name);
    if (action === 'manual') {
      for (const step of steps) list.add('waits', { step }, address);
    } else if (unconfirmed.has(address)) {
      list.add('waits', MANY_UNCONFIRMED, address);
    } else if (action === 'blocked' || action === 'unknown') {
      list.add('waits', { address, reason, steps }, address);
    } else if ((action === 'adopt' || adopted === true) && kind.create !== undefined) {
      list.add('know', `already in ${document.workspace}: imported, not created`, address);
    }
    const resource = specs.get(address);
    if (resource === undefined) continue;
    for (const text of hiddenConfig(kind, resource, planned.from)) list.add('know', text, address);
    const oldId = oldIds.get(address);
    const sourceNote =
      oldId === undefined || id === oldId ? undefined : kind.inTwoWorkspaces?.(plainRecord(resource, oldId));
    if (sourceNote !== undefined && id === null)
      list.add('know', `live in ${planned.from}: ${sourceNote.harm}`, address);
  }
}

/** A single item, which replaces the same steps for many creates. */
const MANY_UNCONFIRMED: ChecklistContent = {
  reason: 'These creates were not confirmed: their records may or may not exist',
  steps: UNCONFIRMED_CREATE_STEPS,
};

/** Returns the addresses of unknown creates without candidates, if there are several. */
function manyUnconfirmed({ resources }: PlanDocument): ReadonlySet<Address> {
  const unconfirmed = resources.filter(isUnconfirmed);
  return new Set(unconfirmed.length > 1 ? unconfirmed.map(({ address }) => address) : []);
}

/** Yields notes on config that the API never returns and no manifest sets. A person must check it in the dashboard. */
function* hiddenConfig(kind: Kind, resource: Resource, from: string): Generator<string> {
  const leaves = [...leavesOf(kind, resource.spec).keys()];
  const roots = new Set(leaves.map(rootOf));
  const isNeedless = ({ unnecessaryIf: other }: FieldRule): boolean =>
    other !== undefined && valueAt(resource.spec, other.field) === other.value;
  for (const [path, rule] of Object.entries(kind.fields)) {
    const isSet = leaves.some((leaf) => leaf === path || leaf.startsWith(`${path}.`));
    if (isSet) continue;
    if (rule.hidden) {
      yield `the API never returns ${path}, and no manifest sets it: check it in the dashboard of ${from}`;
    } else if (rule.writeOnly && roots.has(rootOf(path)) && !isNeedless(rule)) {
      yield `the API never returns ${path}, and no manifest sets it: if ${from} has a value, add a $secret to the manifest`;
    }
  }
}

interface MigrationOutcome extends MigrationPlan {
  /** The results of the writes. Undefined before the apply: the writes are then assumed to succeed. */
  readonly results: ReadonlyMap<Address, ResourceResult> | undefined;
}

/** Returns the manual steps after the plan was applied. */
export function manualStepsAfter(outcome: MigrationOutcome): ChecklistItem[] {
  const list = new Checklist();
  const { document, resources, oldIds, from, results } = outcome;
  const specs = new Map(resources.map((resource) => [resource.address, resource]));
  for (const planned of document.resources) {
    const { address, action, steps = [], notices = [], reason } = planned;
    const kind = kindNamed(planned.kind);
    const result = results?.get(address);
    const isDone = result === undefined || result.status === 'done';
    // Unknown creates are listed with the resources that wait.
    if (action === 'blocked') {
      list.add('after', { address, reason, steps }, address);
    } else if (action !== 'unknown' && (action === 'manual' || isDone)) {
      for (const step of steps) list.add('after', { step }, address);
    }
    for (const notice of notices) if (!isCreated(planned)) list.add('after', { notice }, address);
    const resource = specs.get(address);
    const oldId = oldIds.get(address);
    const isInBoth = isDone && (isCreated(planned) || planned.id !== null) && planned.id !== oldId;
    if (resource === undefined || oldId === undefined || !isInBoth) continue;
    const sourceNote = kind.inTwoWorkspaces?.(plainRecord(resource, oldId));
    if (sourceNote !== undefined) list.add('after', `In the dashboard of ${from}, ${sourceNote.step}.`, address);
  }
  return list.of('after');
}

function isCreated({ action }: PlannedResource): boolean {
  return action === 'create' || action === 'replace';
}

function plainRecord({ spec }: Resource, id: string) {
  const plain = Object.entries(spec).filter(([, value]) => !isTainted(value));
  return { id, spec: Object.fromEntries(plain.map(([path, value]) => [path, toForms(value)])) };
}
