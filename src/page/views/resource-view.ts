import { type PlanDocument, type PlannedResource, summaryOf } from '../../engine/plan/plan-document.ts';
import { type Html, html } from '../../output/html/html.ts';
import { changesHtml } from '../../output/html/html-report.ts';
import { addressHtml } from '../../output/html/resource-html.ts';
import type { WorkspaceDetail } from '../page-data.ts';
import { leftIn } from '../report-standing.ts';
import { callsSection } from './calls-view.ts';
import { addressText, checked, facts, moment, pathOf, type ViewContext, word } from './parts.ts';

/** A resource: how it stands, and what is left to do. */
export function resourceView(
  detail: WorkspaceDetail,
  address: string,
  context: ViewContext,
): Html | undefined {
  const row = detail.resources.find((each) => each.address === address);
  if (row === undefined) return undefined;
  const { now } = context;
  const { left, checkedAt, reach } = detail;
  const resource = leftIn(left).find((each) => each.address === address);
  const source = resource?.source;
  return html`<p class="crumbs"><a href="${pathOf(detail.address)}">${addressText(detail.address)}</a></p>
<h1>${addressHtml(address)}</h1>
<div id="resource" data-live><p class="standing">${word(row.status, detail.isOld)}</p>
${facts(
  [
    ['Id', row.id ?? 'none yet'],
    ['Checked', checked(detail, now)],
    ...(source === undefined || source === null
      ? []
      : [['Declared in', `${source.file}:${source.line}`] as const]),
    ...(row.detail === '' ? [] : [['Detail', row.detail] as const]),
  ],
  now,
)}
<section><h2>Plan${checkedAt === undefined ? '' : html` <small>as of ${moment(checkedAt, now)}</small>`}</h2>${left === undefined || resource === undefined ? html`<p class="empty">No changes.</p>` : html`<div class="plan">${changesHtml(only(left, resource), { reach })}</div>`}</section></div>
${callsSection(detail, address, context)}`;
}

function only(plan: PlanDocument, resource: PlannedResource): PlanDocument {
  const warnings = plan.warnings.filter(({ address }) => address === resource.address);
  const violations = plan.violations?.filter(({ address }) => address === resource.address);
  return { ...plan, resources: [resource], warnings, guards: [], violations, summary: summaryOf([resource]) };
}
