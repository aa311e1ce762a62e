import type { z } from 'zod';
import type { Immutable } from '../../values/json.ts';
import { type Action, actions } from './plan-actions.ts';
import type * as schema from './plan-schema.ts';

/* The plan: plain data that is printed, saved and applied. It contains no secrets. */

export type PlannedChange = Immutable<z.infer<typeof schema.plannedChange>>;
export type PlannedResource = Immutable<z.infer<typeof schema.plannedResource>>;
export type PlannedRoute = Immutable<z.infer<typeof schema.plannedRoute>>;
export type PlanDocument = Immutable<z.infer<typeof schema.planDocument>>;
export type Violation = Immutable<z.infer<typeof schema.violation>>;
export type PlanWarning = PlanDocument['warnings'][number];
/** A warning about the resource being decided. */
export type Remark = Omit<PlanWarning, 'address'>;

/** True if the platform ignored part of the last update. */
export function isNotApplied({ not_applied: fields = [] }: Pick<PlannedResource, 'not_applied'>): boolean {
  return fields.length > 0;
}

export function summaryOf(planned: readonly PlannedResource[]): PlanDocument['summary'] {
  const summary = Object.fromEntries(actions.map((action) => [action, 0])) as Record<Action, number>;
  for (const { action } of planned) summary[action] += 1;
  return summary;
}

/** True for an unknown create for which no candidate record was found. */
export function isUnconfirmed({ action, steps = [] }: PlannedResource): boolean {
  return (
    action === 'unknown' &&
    steps.some((step) => step.action === 'resolve_not_created') &&
    steps.every((step) => step.action !== 'import' || step.id === null)
  );
}

/** Returns the resources with a new name and no other change. */
export function renamedIn(resources: readonly PlannedResource[]): readonly PlannedResource[] {
  return resources.filter(({ action, previous_address }) => action === 'noop' && previous_address !== undefined);
}
