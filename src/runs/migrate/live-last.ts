import type { PlanResult } from '../../engine/engine.ts';
import { writes } from '../../engine/plan/plan-actions.ts';
import { type PlannedResource, summaryOf } from '../../engine/plan/plan-document.ts';
import { kindNamed } from '../../kinds/index.ts';
import type { Address } from '../../manifests/resource.ts';
import type { NextStep } from '../../problems/next-step.ts';

/** True where a migration creates a record that acts from then on, such as a number that takes calls. */
export function goesLive({ kind, action }: PlannedResource): boolean {
  return (action === 'create' || action === 'replace') && kindNamed(kind).inTwoWorkspaces !== undefined;
}

/**
 * The plan without creates of live records that refer to something which waits. An apply would create them, because their references are
 * manual, and calls would reach a number that nothing answers.
 */
export function withLiveWaiting(planned: PlanResult): PlanResult {
  const { document } = planned.plan;
  const waiting = new Set(
    document.resources.flatMap(({ address, action, id, missing }) =>
      !writes.has(action) && (id === null || missing === true) ? [address] : [],
    ),
  );
  const resources = document.resources.map((each) => {
    const reasons = each.depends_on.filter((address) => waiting.has(address));
    return goesLive(each) && reasons.length > 0 ? waitingFor(reasons, each) : each;
  });
  return {
    ...planned,
    plan: { ...planned.plan, document: { ...document, resources, summary: summaryOf(resources) } },
  };
}

function waitingFor(
  reasons: readonly Address[],
  { desired: _, ...planned }: PlannedResource,
): PlannedResource {
  const steps = reasons.map((address): NextStep => ({ action: 'wait_for', address, because: 'not_created' }));
  const reason = 'waits for a record it refers to: it is live once it is created';
  return { ...planned, action: 'manual', reason, changes: [], steps };
}
