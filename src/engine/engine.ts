import { bindDesired } from './decide/bind.ts';
import { makePlan, type Plan } from './decide/make-plan.ts';
import { observe, observeOptions, type PlanRequest, type Snapshot } from './observe/observe.ts';
import { planWithPublications } from './observe/plan-publications.ts';
import { planWithRoutes } from './observe/plan-routes.ts';
import { missingAmong } from './observe/read-all.ts';
import type { ObserveOptions } from './observe/read-records.ts';

/** A plan with the data that `apply` needs. */
export interface PlanResult extends Pick<Snapshot, 'observedAt' | 'fingerprints'> {
  readonly plan: Plan;
  readonly observing: ObserveOptions;
}

/** Compares the manifests, the state and the platform. Reads the platform and writes nothing; `apply` executes the plan. */
export async function planFor(request: PlanRequest): Promise<PlanResult> {
  const bound = bindDesired(request);
  const snapshot = await observe(bound, request);
  const observing = observeOptions(request);
  const firstPlan = makePlan({ ...request, ...bound, ...snapshot });
  const missing = await missingAmong(firstPlan.unchecked, observing);
  const observed = { ...snapshot.observed, missing };
  const plan = missing.size === 0 ? firstPlan : makePlan({ ...request, ...bound, ...snapshot, observed });

  const withRoutes = request.routes ? await planWithRoutes(plan, request.desired, observing) : plan;
  const withPublications = await planWithPublications(withRoutes, request, observing);
  return { plan: withPublications, observing, observedAt: snapshot.observedAt, fingerprints: snapshot.fingerprints };
}
