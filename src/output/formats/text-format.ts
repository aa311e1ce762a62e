import type { PlanDocument, PlannedResource } from '../../engine/plan/plan-document.ts';
import type { Reach } from '../../problems/workspace-command.ts';
import { notAppliedIn } from '../action-words.ts';
import { applyText } from '../apply-text.ts';
import { escapeControls } from '../escape-controls.ts';
import { failureText } from '../failures.ts';
import { createSecretNumbers } from '../field-view.ts';
import { sharedSteps } from '../grouped-steps.ts';
import { plural } from '../plural.ts';
import { renderRemarks, renderSteps } from '../remarks-text.ts';
import { changedGroups, type Report, reachOf, type SeveralReports } from '../report.ts';
import { headLine, renderRemark } from '../resource-lines.ts';
import { renderGroup } from '../resource-text.ts';
import { type Style, sentences } from '../style.ts';
import { displayWidth, pad } from '../text-width.ts';
import type { ReportFormat } from './format.ts';

export const format: ReportFormat = {
  report: (report, { style, ...options }) =>
    `${report.what === 'apply' ? '\n' : ''}${reportText(report, style, options)}`,
  several: (several, { style, ...options }) => severalText(several, style, options),
};

interface ReportTextOptions {
  /** Lists unchanged resources, shows long texts whole, and says why of everything. */
  readonly verbose?: boolean;
  /** Says where the plan is of even where it holds nothing. */
  readonly headed?: boolean;
  /** Says of each resource what many share. */
  readonly full?: boolean | undefined;
  /** Without notes. */
  readonly quiet?: boolean | undefined;
  readonly reach?: Reach;
}

/** A report for a person to read: its groups, a line a field, what else is to be known, and a closing count. */
export function reportText(report: Report, style: Style, options: ReportTextOptions = {}): string {
  const { what, document, groups, pending, applied } = report;
  if (applied !== undefined) return applyText(applied, style, options);
  const { verbose = false, headed = false, full = verbose, quiet, reach } = options;
  const { shared, without } = sharedSteps(pending, { full, reach });
  const towards = what === 'drift' ? 'platform' : 'manifest';
  const views = { secrets: createSecretNumbers(), verbose, reach, towards } as const;
  const unchanged = groups.filter(({ key }) => key === 'noop').flatMap(({ resources }) => resources);
  const body = [
    ...changedGroups(report).map((group) => {
      const resources = group.resources.flatMap((each) => without(each) ?? []);
      return renderGroup({ ...group, resources }, { style, views, full });
    }),
    what === 'plan' ? renderUnchanged(unchanged, style, verbose) : '',
    renderSteps(shared, style),
    renderRemarks(document, style, { full, reach, quiet }),
  ].filter((part) => part !== '');
  const heading = body.length === 0 && !headed ? [] : [renderHeading(document, style)];
  return `${[...heading, ...body, closing(report, style)].join('\n\n')}\n`;
}

function renderHeading({ workspace, workspace_id, base_url }: PlanDocument, style: Style): string {
  return style.prose(`${workspace_id} at ${base_url}`, {
    lead: `Workspace ${escapeControls(workspace)} `,
    format: style.dim,
  });
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

function closing(report: Report, style: Style): string {
  const { document, summary } = report;
  const isClean =
    changedGroups(report).every(({ resources }) => resources.length === 0) &&
    notAppliedIn(document.resources) === 0;
  const counts = sentences(summary, style, { format: isClean ? style.good : style.bold });
  if (document.refreshed) return counts;
  return `${style.prose('Made with --no-refresh: from the state, without reading the platform.', { format: style.warn })}\n${counts}`;
}

/** Each workspace under its heading, what failed, and a line for each at the end. */
export function severalText(
  { reports, failures }: SeveralReports,
  style: Style,
  { verbose = false, full, quiet }: Pick<ReportTextOptions, 'verbose' | 'full' | 'quiet'> = {},
): string {
  const parts = [
    ...reports.map((each) =>
      reportText(each, style, { verbose, full, quiet, headed: true, reach: reachOf(each) }),
    ),
    ...failures.map((failure) => failureText(failure, style)),
  ];
  const rows = [
    ...reports.map(({ document, summary }) => ({ ...document, said: summary.join(' '), format: String })),
    ...failures.map(({ workspace }) => ({ workspace, said: 'failed', format: style.error })),
  ].map(({ workspace, ...row }) => ({ ...row, name: escapeControls(workspace) }));
  const width = Math.max(0, ...rows.map(({ name }) => displayWidth(name)));
  const lines = rows.map(({ name, said, format }) =>
    style.prose(said, { indent: 2, lead: `${pad(name, width)}  `, format }),
  );
  return `${parts.join('\n')}\n${style.bold(plural(rows.length, 'workspace'))}\n${lines.join('\n')}\n`;
}
