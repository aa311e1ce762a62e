import { type Plan, summaryOf } from './plan.ts';
import type { PlanDocument, PlannedChange, PlannedResource } from './plan-document.ts';

/**
 * What changed on the platform since the last apply: the plan with everything else left out. Each resource says what an
 * apply would restore; what only the manifests changed counts as nothing to do.
 */
export function driftOf({ document, observed }: Plan): PlanDocument {
  // What has no record was never applied, so that nothing of it can have moved.
  const applied = document.resources.filter(({ id }) => id !== null);
  const resources = applied.map((resource): PlannedResource => {
    const changes = resource.changes.filter(isDrift);
    const seen = observed.records.get(resource.address);
    const isGone = seen?.status === 'gone';
    if (seen?.status === 'shown' && seen.successor) return resource;
    if (isGone || changes.length > 0) return { ...resource, changes: isGone ? [] : changes };
    return withoutProposal(resource);
  });
  const addresses = new Set(
    resources.filter(({ action }) => action !== 'noop').map(({ address }) => address),
  );
  return {
    ...document,
    resources,
    summary: summaryOf(resources),
    guards: [],
    warnings: document.warnings.filter(({ address }) => address === null || addresses.has(address)),
  };
}

/** Whether anything drifted. */
export function hasDrift(drift: PlanDocument): boolean {
  return drift.resources.some(({ action }) => action !== 'noop');
}

function isDrift({ cause }: PlannedChange): boolean {
  return cause !== 'manifest';
}

function withoutProposal({ steps, desired, observed_digest, ...rest }: PlannedResource): PlannedResource {
  return { ...rest, action: 'noop', changes: [], reason: 'no drift' };
}
