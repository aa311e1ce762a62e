import type { Action, PlanDocument, PlannedResource } from '../engine/plan/plan-document.ts';
import { actionWords, byAction, notAppliedIn, planSummary, shownActions } from './action-words.ts';
import { escapeControls } from './escape-controls.ts';
import { createSecretNumbers } from './field-view.ts';
import { sharedSteps } from './grouped-steps.ts';
import type { WorkspaceFlag } from './next-steps.ts';
import { plural } from './plural.ts';
import { renderRemarks, renderSteps } from './remarks-text.ts';
import { headLine, renderRemark } from './resource-lines.ts';
import { type ResourceGroup, renderGroup } from './resource-text.ts';
import { type Style, sentences } from './style.ts';

export interface PlanTextOptions {
  /** Lists unchanged resources, shows long texts whole, and says why of everything. */
  readonly verbose?: boolean;
  /** Says where the plan is of even where it holds nothing. */
  readonly headed?: boolean;
  /** Says of each resource what many share. */
  readonly full?: boolean | undefined;
  readonly workspaceFlag?: WorkspaceFlag;
}

/** A plan for a person to read: groups by action, a line a field, what else is to be known, and a closing count. */
export function renderPlanText(
  plan: PlanDocument,
  style: Style,
  { verbose = false, headed = false, full = verbose, workspaceFlag = '' }: PlanTextOptions = {},
): string {
  const { shared, resources } = sharedSteps(plan.resources, { full, workspaceFlag });
  const of = byAction(resources);
  const views = { secrets: createSecretNumbers(), verbose, workspaceFlag };
  const body = [
    ...shownActions.map((action) => renderGroup(groupOf(action, of(action)), { style, views, full })),
    renderUnchanged(of('noop'), style, verbose),
    renderSteps(shared, style),
    renderRemarks(plan, style, { full, workspaceFlag }),
  ].filter((part) => part !== '');
  const heading = body.length === 0 && !headed ? [] : [renderHeading(plan, style)];
  return `${[...heading, ...body, closing(plan, style)].join('\n\n')}\n`;
}

/** Where the plan or the drift is of. */
export function renderHeading({ workspace, workspace_id, base_url }: PlanDocument, style: Style): string {
  return style.prose(`${workspace_id} at ${base_url}`, {
    lead: `Workspace ${escapeControls(workspace)} `,
    format: style.dim,
  });
}

function groupOf(action: Action, resources: readonly PlannedResource[]): ResourceGroup {
  const { heading, explanation, symbol } = actionWords[action];
  return { heading, explanation, symbol, colorOf: action, resources, isPlain };
}

/** Of an update each line says who moved, and of what is forgotten the heading that nothing declares it. */
function isPlain({ action, adopted }: PlannedResource): boolean {
  return action === 'forget' || (action === 'update' && !adopted);
}

/** Unchanged resources: those that were renamed always, the others only where all is to be shown. */
function renderUnchanged(resources: readonly PlannedResource[], style: Style, verbose: boolean): string {
  const shown = resources.filter(({ previous_address: previous }) => verbose || previous !== undefined);
  if (shown.length === 0) return '';
  const lines = shown.map((resource) => {
    const { unverified = [], not_applied: kept = [] } = resource;
    const head = headLine(resource, { symbol: '', colorOf: 'noop' }, style);
    if (!verbose) return head;
    const remarks = [
      ...(kept.length === 0 ? [] : [`not applied by the platform: ${kept.join(', ')}`]),
      ...(unverified.length === 0
        ? []
        : [`${plural(unverified.length, 'field')} unverified: ${unverified.join(', ')}`]),
    ];
    return [head, ...remarks.map((text) => renderRemark(text, style))].join('\n');
  });
  return [style.bold(`${verbose ? 'Unchanged' : 'Renamed'} (${shown.length})`), ...lines].join('\n');
}

function closing(plan: PlanDocument, style: Style): string {
  const inSync =
    Object.entries(plan.summary).every(([action, count]) => action === 'noop' || count === 0) &&
    notAppliedIn(plan.resources) === 0;
  const counts = sentences(planSummary(plan), style, { format: inSync ? style.good : style.bold });
  if (plan.refreshed) return counts;
  return `${style.prose('Made with --no-refresh: from the state, without reading the platform.', { format: style.warn })}\n${counts}`;
}
