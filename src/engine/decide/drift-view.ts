import {
  isNotApplied,
  type PlanDocument,
  type PlannedChange,
  type PlannedResource,
  summaryOf,
} from '../plan/plan-document.ts';
import type { Plan } from './make-plan.ts';

/**
 * Returns a plan that contains only the drift since the last apply: the changes that an apply would revert. A resource that changed only
 * in its manifest has no action. A record of another workspace is not compared, and causes a warning. Notes on publishing and warnings
 * about side effects of writes are omitted.
 */
export function driftOf({ document: planned, observed }: Plan): PlanDocument {
  const { violations: _, ...document } = planned;
  // A resource without a record was never applied, so it cannot drift.
  const applied = document.resources.filter(({ id }) => id !== null);
  const isForeign = ({ address }: PlannedResource): boolean => observed.records.get(address)?.status === 'foreign';
  const [foreign, own] = [applied.filter(isForeign), applied.filter((each) => !isForeign(each))];
  const resources = own.map(({ notices: _, ...resource }): PlannedResource => {
    const changes = resource.changes.filter(isDrift);
    const observation = observed.records.get(resource.address);
    if (observation?.status === 'shown' && observation.successor) return resource;
    if (resource.missing) return { ...resource, changes: [] };
    if (changes.length > 0) return { ...resource, changes };
    return withoutAction(resource);
  });
  const reported = new Set(
    resources.filter((resource) => resource.action !== 'noop' || isNotApplied(resource)).map(({ address }) => address),
  );
  return {
    ...document,
    resources,
    summary: summaryOf(resources),
    guards: [],
    warnings: [
      ...document.warnings.filter(
        ({ address, may_erase: erased }) => address === null || (reported.has(address) && erased === undefined),
      ),
      ...foreign.map(({ address, reason }) => ({ address, message: reason })),
    ],
  };
}

export function hasDrift(drift: PlanDocument): boolean {
  return drift.resources.some(({ action }) => action !== 'noop');
}

/** True if the platform does not have the applied value: the field drifted, or the platform ignored the update. */
export function isDrift({ cause, not_applied: notApplied }: PlannedChange): boolean {
  return cause !== 'manifest' || notApplied === true;
}

function withoutAction({ steps, desired, observed_digest, ...rest }: PlannedResource): PlannedResource {
  return { ...rest, action: 'noop', changes: [], reason: 'no drift' };
}
