import { kinds } from '../../kinds/index.ts';
import { dashboardUrl } from '../../project/dashboard-address.ts';
import type { WorkspaceConfig } from '../../project/project.ts';
import type { PlanDocument, PlannedResource } from './plan-document.ts';

/** Returns the dashboard URL templates of a workspace by kind, if any. */
export function dashboardOf({ dashboard }: Pick<WorkspaceConfig, 'dashboard'>): PlanDocument['dashboard'] {
  if (dashboard === undefined) return undefined;
  const templates = [...kinds.values()].flatMap(({ name, dashboardKey }) => {
    const template = Object.hasOwn(dashboard, dashboardKey) ? dashboard[dashboardKey] : undefined;
    return template === undefined ? [] : [[name, template] as const];
  });
  return templates.length === 0 ? undefined : Object.fromEntries(templates);
}

/** Adds a dashboard URL to each resource for which a person has to do or check something in the dashboard. */
export function withDashboardLinks(
  document: PlanDocument,
  dashboard: PlanDocument['dashboard'] = document.dashboard,
): PlanDocument {
  if (dashboard === undefined) return document;
  const resources = document.resources.map(({ url: _, ...resource }) => {
    const url = needsDashboard(resource)
      ? recordUrl({ dashboard }, { ...resource, id: resource.id ?? onlyCandidate(resource) })
      : undefined;
    return url === undefined ? resource : { ...resource, url };
  });
  return { ...document, dashboard, resources };
}

/** Returns the dashboard URL of a record; undefined if the workspace has no template for the kind. */
export function recordUrl(
  { dashboard = {} }: Pick<PlanDocument, 'dashboard'>,
  { kind, id }: { readonly kind: string; readonly id: string | null },
): string | undefined {
  const template = Object.hasOwn(dashboard, kind) ? dashboard[kind] : undefined;
  return template === undefined ? undefined : dashboardUrl(template, id);
}

/** True if a person has to do or check something in the dashboard. A record that does not exist yet needs no URL. */
function needsDashboard({ action, id, steps = [], notices = [] }: PlannedResource): boolean {
  if (action === 'unknown' || action === 'manual') return true;
  return id !== null && (action === 'forget' || action === 'replace' || steps.length + notices.length > 0);
}

function onlyCandidate({ steps = [] }: PlannedResource): string | null {
  const ids = steps.flatMap((step) => (step.action === 'import' && step.id !== null ? [step.id] : []));
  return ids.length === 1 ? (ids[0] ?? null) : null;
}
