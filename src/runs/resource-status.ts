import { isNotApplied, type PlannedResource } from '../engine/plan/plan-document.ts';
import type { Address } from '../manifests/resource.ts';
import type { SyncStatus } from './sync-status.ts';

export interface ResourceStatus {
  readonly address: Address;
  readonly id: string | null;
  readonly status: SyncStatus;
  /** The dashboard link, if a manual step is needed there. */
  readonly url?: string;
  /** Fields that kept the platform's own value; absent if there are none. */
  readonly not_applied?: readonly string[];
  /** Managed fields that the platform does not return. Each is assumed to have the last sent value. Absent if there are none. */
  readonly unverified?: readonly string[];
  /** True if the draft is newer than its published version, regardless of the status. */
  readonly unpublished: boolean;
  /** Clauses that explain the status, with the number of unverified fields. May be empty. */
  readonly detail: string;
}

export function statusOf(resources: readonly PlannedResource[]): ResourceStatus[] {
  return resources.map((resource) => ({
    address: resource.address,
    id: resource.id,
    status: syncStatusOf(resource),
    ...(resource.url !== undefined && { url: resource.url }),
    unpublished: resource.notices !== undefined && resource.notices.length > 0,
    ...(isNotApplied(resource) && { not_applied: [...(resource.not_applied ?? [])] }),
    ...(resource.unverified !== undefined && { unverified: [...resource.unverified] }),
    detail: detailOf(resource),
  }));
}

function syncStatusOf(resource: PlannedResource): SyncStatus {
  const { action, changes, notices = [], steps = [] } = resource;
  switch (action) {
    case 'noop':
      if (isNotApplied(resource)) return 'not applied';
      // Steps other than publish occur here only in the plan after an apply.
      if (steps.some((step) => step.action !== 'publish')) return 'manual';
      if (notices.length > 0 || steps.length > 0) return 'unpublished';
      return 'in sync';
    case 'update':
    case 'replace':
      return changes.some(({ cause }) => cause !== 'manifest') ? 'drifted' : 'changed';
    case 'create':
    case 'adopt':
      return 'changed';
    case 'forget':
      return 'undeclared';
    case 'manual':
    case 'blocked':
    case 'unknown':
      return action;
    default:
      return action satisfies never;
  }
}

function detailOf(resource: PlannedResource): string {
  const { notices = [], unverified = [], not_applied: kept = [] } = resource;
  return [
    differenceText(resource),
    kept.length === 0 ? '' : `kept by the platform: ${kept.join(', ')}`,
    ...notices,
    unverified.length === 0 ? '' : `${unverified.length} ${unverified.length === 1 ? 'field' : 'fields'} unverified`,
  ]
    .filter((part) => part !== '')
    .join('; ');
}

function differenceText({ action, changes, reason }: PlannedResource): string {
  if (action === 'noop') return '';
  return action === 'update' ? changes.map(({ path }) => path).join(', ') : reason;
}
