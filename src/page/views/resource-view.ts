import { type PlanDocument, type PlannedResource, summaryOf } from '../../engine/plan/plan-document.ts';
import { kinds } from '../../kinds/index.ts';
import { kindOf } from '../../manifests/resource.ts';
import { leftIn } from '../../operator/plan-after.ts';
import { type Html, html, trusted } from '../../output/html/html.ts';
import { changesHtml } from '../../output/html/html-report.ts';
import { addressHtml } from '../../output/html/resource-html.ts';
import { may } from '../access/person.ts';
import type { WorkspaceDetail } from '../page-data.ts';
import {
  actionLink,
  addressText,
  checked,
  facts,
  isolated,
  moment,
  pathOf,
  resourceLink,
  type ViewContext,
  word,
} from './parts.ts';

/** A resource: its status and remaining actions. */
export function resourceView(detail: WorkspaceDetail, address: string, context: ViewContext): Html | undefined {
  const row = detail.resources.find((each) => each.address === address);
  if (row === undefined) return undefined;
  const { now } = context;
  const { left, checkedAt, reach } = detail;
  const resource = leftIn(left).find((each) => each.address === address);
  const source = resource?.source;
  return html`<p class="crumbs"><a href="${pathOf(detail.address)}">${addressText(detail.address)}</a></p>
<h1>${addressHtml(address)}</h1>
<div id="resource" data-live><p class="status">${word(row.status, detail.isOld)}</p>
${facts(
  [
    ['Id', row.id ?? 'none yet'],
    ['Checked', checked(detail, now)],
    ['Declared in', source ? `${source.file}:${source.line}` : undefined],
    ['Detail', row.detail || undefined],
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

/** The effect of a resource's versions on its calls, if requested; empty for a kind without versions. */
function callsSection(
  { address: workspace, actions, impacts }: WorkspaceDetail,
  address: string,
  { now, visitor }: ViewContext,
): Html {
  if (kinds.get(kindOf(address))?.versions === undefined) return html``;
  const shown = impacts?.get(address);
  const canAsk = actions.includes('compare-calls');
  const mayAsk = canAsk && may(visitor.person, 'compare-calls');
  const whoMay =
    canAsk && !mayAsk ? ' Comparing reads all calls from the platform: only an approver may start it.' : '';
  const head = (about: Html | string, button: string) =>
    html`<div class="head"><h2>Calls ${about}</h2>${mayAsk && button !== '' ? html`<div class="actions">${actionLink(workspace, 'compare-calls', button, address)}</div>` : ''}</div>`;
  if (shown === undefined) {
    return html`<section id="calls" data-live>${head('', 'Compare versions')}<p class="empty">Its calls were not compared, or the result is no longer kept.${whoMay}</p></section>`;
  }
  const { askedAt, askedBy, html: figures, problem } = shown;
  const about = html`<small>of the last 30 days, as of ${moment(askedAt, now)}, asked by ${isolated(askedBy)}</small>`;
  const body =
    problem !== undefined
      ? html`<p class="panel bad">${isolated(problem)}</p>`
      : figures === undefined
        ? html`<p class="empty">Reading calls. The result will be shown here.</p>`
        : trusted(figures);
  const isRunning = problem === undefined && figures === undefined;
  return html`<section id="calls" data-live>${head(about, isRunning ? '' : 'Compare again')}${body}</section>`;
}

/** Links to the comparisons of a workspace. */
export function comparedCalls({ address, impacts }: WorkspaceDetail, now: Date): Html {
  if (impacts === undefined || impacts.size === 0) return html``;
  const item = ([resource, { askedAt, html: figures, problem }]: readonly [
    string,
    NonNullable<ReturnType<typeof impacts.get>>,
  ]) =>
    html`<li><div>${resourceLink(address, resource, 'calls')} <span class="faint">${problem !== undefined ? 'failed' : figures === undefined ? 'being read' : 'compared'} ${moment(askedAt, now)}</span></div></li>`;
  return html`<h2>Calls</h2><ul class="tasks">${[...impacts].map(item)}</ul>`;
}
