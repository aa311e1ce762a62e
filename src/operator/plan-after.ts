import { withDashboardLinks } from '../engine/plan/dashboard-links.ts';
import { type PlanDocument, type PlannedResource, summaryOf } from '../engine/plan/plan-document.ts';
import type { RunReport } from './run-report.ts';
import type { RunStatus } from './workspace-status.ts';

/** Returns the plan as if it were made after the run: executed actions are done, and only their manual steps remain. */
export function planAfter({ plan, applied }: Pick<RunReport, 'plan' | 'applied'>): PlanDocument | undefined {
  if (plan === undefined || applied.length === 0) return plan;
  const results = new Map(applied.map(({ address, result }) => [address, result]));
  const resources = plan.resources.flatMap((each): PlannedResource[] => {
    const result = results.get(each.address);
    if (result?.status !== 'done') return [each];
    if (each.action === 'forget') return [];
    const { not_applied: _, ...rest } = each;
    const notApplied = result.notApplied && { not_applied: [...result.notApplied] };
    const reason = notApplied === undefined ? 'in sync' : 'the platform ignored part of the update';
    return [{ ...rest, action: 'noop', id: result.id, reason, changes: [], ...notApplied }];
  });
  return withDashboardLinks({ ...plan, resources, summary: summaryOf(resources) });
}

/** Returns the resources with a remaining action, such as `manual`. */
export function remainingIn(plan: PlanDocument | undefined): readonly PlannedResource[] {
  return plan?.resources.filter(({ action }) => action !== 'noop') ?? [];
}

/** True if the platform may have two records of the resource, or if the id of its record may be lost. */
export function isAtRisk({ action, steps = [] }: PlannedResource): boolean {
  return action === 'unknown' || steps.some((step) => step.action === 'import');
}

export function hasManualStep({ steps = [], notices = [] }: PlannedResource): boolean {
  return steps.length > 0 || notices.length > 0;
}

/**
 * Returns the status of a workspace after a run; undefined if another run held the lock or the run was interrupted.
 * @param isRejected true if a person rejected the plan of the run.
 */
export function statusAfter(report: RunReport, isRejected = false): RunStatus | undefined {
  const { result, drift, invalid, plan, request, hold } = report;
  if (result === 'failed') return 'failed';
  if (result === 'interrupted') return undefined;
  if (invalid !== undefined) return 'invalid';
  if (plan === undefined || result === 'busy') return undefined;
  if (hold?.reason === 'approval' && !isRejected) return 'waiting';
  const remaining = remainingIn(planAfter(report));
  // Plans do not contain drift that waits for acceptance.
  const isOpen = (address: string): boolean =>
    request !== undefined || remaining.some((each) => each.address === address);
  if (drift.some(({ address }) => isOpen(address))) return 'drifted';
  return remaining.length > 0 ? 'pending' : 'in-sync';
}

/** A resource that a run changed or tried to change. */
export interface AppliedRow {
  readonly address: string;
  readonly action: string;
  readonly result: string;
  readonly id: string | null;
  /** The changed paths, or the error. */
  readonly detail: string;
}

/** Returns the resources that a run changed or tried to change. @param redact removes secrets. */
export function appliedRows(
  { plan, applied }: Pick<RunReport, 'plan' | 'applied'>,
  redact: (text: string) => string,
): readonly AppliedRow[] {
  const planned = new Map(plan?.resources.map((each) => [each.address, each]));
  return applied.map(({ address, action, result }) => {
    const resource = planned.get(address);
    const paths = resource?.changes.map(({ path }) => path).join(', ');
    const reason = result.status === 'failed' ? result.error : result.status === 'skipped' && result.because;
    return {
      address,
      action,
      result: result.status,
      id: result.status === 'done' ? result.id : (resource?.id ?? null),
      detail: redact(reason || (paths ?? '')),
    };
  });
}
