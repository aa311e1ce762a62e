import type { PlannedResource } from '../src/engine/plan/plan-document.ts';
import { stepText } from '../src/output/next-steps.ts';
import type { NextStep } from '../src/problems/next-step.ts';

/** Returns the steps of a resource as users read them in a project with one workspace; undefined if there are none. */
export function stepTexts({ steps }: Pick<PlannedResource, 'steps'>): string[] | undefined {
  return steps?.map((step) => stepText(step, undefined));
}

/** Returns a dashboard step with a kind's own sentence. */
export function inDashboard(instruction: string): NextStep {
  return { action: 'dashboard', instruction };
}
