import { kinds } from '../../kinds/index.ts';
import type { ShownRecord } from '../../kinds/kind.ts';
import type { Guards } from '../../project/project.ts';
import type { PlanDocument, PlannedResource } from '../plan/plan-document.ts';
import type { Observed } from './observed.ts';

interface GuardInput {
  readonly guards: Guards;
  readonly observed: Observed;
  readonly managed: number;
  /** True if the state contains the resource. Imports do not count as changes of managed resources. */
  isManaged(resource: PlannedResource): boolean;
}

/** Returns the guards that an apply of these resources would trip, each with the reason. */
export function trippedGuards(planned: readonly PlannedResource[], facts: GuardInput): PlanDocument['guards'] {
  return [...largeChange(planned, facts), ...ownerChanges(planned, facts)];
}

function* largeChange(
  planned: readonly PlannedResource[],
  { guards, managed, isManaged }: GuardInput,
): Generator<PlanDocument['guards'][number]> {
  if (managed < guards.minResources) return;
  const changedCount = planned.filter(
    (each) =>
      each.recreates !== undefined ||
      ((each.action === 'update' || each.action === 'replace' || each.action === 'forget') && isManaged(each)),
  ).length;
  if (changedCount * 100 <= guards.maxChangedPercent * managed) return;
  yield {
    guard: 'large_change',
    message: `${changedCount} of ${managed} managed resources would change, more than guards.max_changed_percent allows (${guards.maxChangedPercent} %)`,
  };
}

function* ownerChanges(
  planned: readonly PlannedResource[],
  { observed }: GuardInput,
): Generator<PlanDocument['guards'][number]> {
  for (const { address, kind, action, changes } of planned) {
    const field = kinds.get(kind)?.ownership?.field;
    if (field === undefined || observed.lists.has(kind) || action !== 'update') continue;
    if (!changes.some(({ path }) => path === field)) continue;
    yield {
      guard: 'owner_change',
      message: `${address} may be a workspace owner, and its ${field} would change; a plan without refresh cannot check this`,
    };
  }
  for (const [name, records] of observed.lists) {
    const ownership = kinds.get(name)?.ownership;
    if (ownership === undefined) continue;
    const { field, isOwner } = ownership;
    const updates = new Map(
      planned.filter(({ kind, action }) => kind === name && action === 'update').map((each) => [each.id, each]),
    );
    const changeOf = (record: ShownRecord) => updates.get(record.id)?.changes.find(({ path }) => path === field);
    // A secret value is unknown. Null ensures that it does not count as the value of an owner.
    const newValue = (record: ShownRecord) => {
      const change = changeOf(record);
      return change === undefined ? undefined : (change.after ?? null);
    };
    const owners = records.filter((record) => isOwner(record)).sort((a, b) => (a.id < b.id ? -1 : 1));
    for (const owner of owners) {
      if (changeOf(owner) === undefined) continue;
      yield {
        guard: 'owner_change',
        message: `${updates.get(owner.id)?.address} is a workspace owner, and its ${field} would change`,
      };
    }
    if (owners.length > 0 && !records.some((record) => isOwner(record, newValue(record)))) {
      yield { guard: 'owner_change', message: 'the workspace would be left without an owner' };
    }
  }
}
