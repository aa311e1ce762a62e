import { type PlanDocument, type PlannedResource, summaryOf } from '../engine/plan/plan-document.ts';
import type { RunReport } from './run-report.ts';

/** The plan as if it were made after the run: of what was done, only the steps of a person are left. */
export function planAfter({ plan, applied }: Pick<RunReport, 'plan' | 'applied'>): PlanDocument | undefined {
  if (plan === undefined || applied.length === 0) return plan;
  const results = new Map(applied.map(({ address, result }) => [address, result]));
  const resources = plan.resources.flatMap((each): PlannedResource[] => {
    const result = results.get(each.address);
    if (result?.status !== 'done') return [each];
    if (each.action === 'forget') return [];
    const { not_applied: _, ...rest } = each;
    const kept = result.notApplied && { not_applied: [...result.notApplied] };
    const reason = kept === undefined ? 'in sync' : 'the platform ignored part of the update';
    return [{ ...rest, action: 'noop', id: result.id, reason, changes: [], ...kept }];
  });
  return { ...plan, resources, summary: summaryOf(resources) };
}

/** What it stands for may exist twice on the platform, or its id may be lost. */
export function isDoubtful({ action, steps = [] }: PlannedResource): boolean {
  return action === 'unknown' || steps.some((step) => step.action === 'import');
}

/** Left to a person: a step that no run does by itself. */
export function isForPerson({ steps = [], notices = [] }: PlannedResource): boolean {
  return steps.length > 0 || notices.length > 0;
}
