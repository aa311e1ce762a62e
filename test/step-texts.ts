import type { PlannedResource } from '../src/engine/plan/plan-document.ts';
import { stepText } from '../src/output/next-steps.ts';
import type { NextStep } from '../src/problems/next-step.ts';

/** The steps of a resource as people read them where there is one workspace; undefined where it has none. */
export function stepTexts({ steps }: Pick<PlannedResource, 'steps'>): string[] | undefined {
  return steps?.map((step) => stepText(step, undefined));
}

/** A sentence of a kind's own. */
export function inDashboard(instruction: string): NextStep {
  return { action: 'dashboard', instruction };
}
