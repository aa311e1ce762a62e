import { recordUrl } from '../../engine/plan/dashboard-links.ts';
import { type PlanDocument, type PlannedResource, summaryOf } from '../../engine/plan/plan-document.ts';
import { fileOnHost } from '../../hosting/index.ts';
import { kinds } from '../../kinds/index.ts';
import { kindOf } from '../../manifests/resource.ts';
import { type Html, html, trusted } from '../../output/html/html.ts';
import { changesHtml } from '../../output/html/html-report.ts';
import { addressHtml, dashboardLink } from '../../output/html/resource-html.ts';
import { mayPerform } from '../access/person.ts';
import type { Fact, ResourceDetail, WorkspaceDetail } from '../page-data.ts';
import { referringTo } from '../resource-detail.ts';
import {
  actionLink,
  addressText,
  checkedTime,
  decisionLinks,
  factList,
  isolate,
  pathOf,
  resourceLink,
  runsTable,
  timeWithAge,
  type ViewContext,
  wordBadge,
} from './parts.ts';
import { valuesSection } from './values-view.ts';

/** Returns the page of a resource: its status, plan, values, references and history. */
export function resourceView(detail: WorkspaceDetail, address: string, context: ViewContext): Html | undefined {
  const row = detail.resources.find((each) => each.address === address);
  if (row === undefined) return undefined;
  const { now } = context;
  const { remaining, checkedAt, selection, dashboard, resource: parts } = detail;
  const planned = remaining?.resources.find((each) => each.address === address);
  const isWaiting = detail.saved?.plan.resources.some((each) => each.address === address && each.action !== 'noop');
  const hasPlan = planned !== undefined && planned.action !== 'noop';
  const asOf = checkedAt === undefined ? html`` : html` <small>as of ${timeWithAge(checkedAt, now)}</small>`;
  // For an unknown create, link to the list in which a person can find the record.
  const isUnknown = row.status === 'unknown' && row.id === null;
  const url =
    isUnknown || row.id !== null ? recordUrl({ dashboard }, { kind: kindOf(address), id: row.id }) : undefined;
  const link = dashboardLink(planned?.url ?? url);
  return html`<p class="crumbs"><a href="${pathOf(detail.address)}">${addressText(detail.address)}</a></p>
<h1>${addressHtml(address)}</h1>
<div id="resource" data-live><p class="status">${wordBadge(row.status, detail.isOld)}</p>
${factList(
  [
    ['Id', row.id ?? 'none yet'],
    ...naturalKey(address, parts),
    ['Dashboard', link.text === '' ? undefined : link],
    ['Checked', checkedTime(detail, now)],
    ['Declared in', manifestLink(detail, planned)],
    ['Detail', hasPlan || row.detail === '' ? undefined : row.detail],
  ],
  now,
)}
<section><h2>Plan${asOf}</h2>${remaining === undefined || planned === undefined || !hasPlan ? html`<p class="empty">No changes.</p>` : html`${isWaiting ? html`<p class="where">This resource is part of the plan that waits for approval.</p>${decisionLinks(detail, context)}` : ''}<div class="plan">${changesHtml(planOfResource(remaining, planned), { selection })}</div>`}</section></div>
${row.id === null ? '' : valuesSection(detail, parts, asOf)}
${referencesSection(detail, address)}
${parts === undefined ? '' : html`<section id="history" data-live><h2>History</h2>${parts.runs.length === 0 ? html`<p class="empty">No stored run changed this resource.</p>` : runsTable(detail.address, parts.runs, now)}</section>`}
${row.id === null ? '' : callsSection(detail, address, context)}`;
}

/** Returns the natural key of the resource, such as its phone number or email address. */
function naturalKey(address: string, parts: ResourceDetail | undefined): Fact[] {
  const values = (parts?.fields ?? []).flatMap(({ path, declared }) =>
    'value' in declared ? [[path, declared.value] as const] : [],
  );
  const spec = Object.fromEntries(values);
  const field = kinds.get(kindOf(address))?.naturalKey?.(spec)?.field;
  return field === undefined ? [] : [[field.charAt(0).toUpperCase() + field.slice(1), String(spec[field])]];
}

/** Returns the file and line of the manifest, as a link if the repository is on a known host. */
function manifestLink({ files }: WorkspaceDetail, planned: PlannedResource | undefined): Html | undefined {
  const source = planned?.source;
  if (source === undefined || source === null) return undefined;
  const location = isolate(`${source.file}:${source.line}`);
  const url = files === undefined ? undefined : fileOnHost(files, source);
  return url === undefined ? location : html`<a href="${url.href}" rel="noopener noreferrer">${location}</a>`;
}

const MAX_REFERENCES = 50;

/** Returns the references from and to the resource, as declared. */
function referencesSection({ address: workspace, remaining, resources }: WorkspaceDetail, address: string): Html {
  const existing = new Set(resources.map((each) => each.address));
  const to = remaining?.resources.find((each) => each.address === address)?.depends_on ?? [];
  const from = referringTo(address, remaining?.resources);
  const list = (heading: string, addresses: readonly string[]) =>
    addresses.length > 0 &&
    html`<h3>${heading}</h3><ul class="addresses">${addresses.slice(0, MAX_REFERENCES).map((each) => html`<li>${existing.has(each) ? resourceLink(workspace, each) : addressHtml(each)}</li>`)}${addresses.length > MAX_REFERENCES && html`<li>and ${addresses.length - MAX_REFERENCES} more</li>`}</ul>`;
  if (to.length + from.length === 0) return html``;
  return html`<section id="references" data-live><h2>References</h2>${list('Refers to', to)}${list('Referred to by', from)}</section>`;
}

function planOfResource(plan: PlanDocument, resource: PlannedResource): PlanDocument {
  const warnings = plan.warnings.filter(({ address }) => address === resource.address);
  const violations = plan.violations?.filter(({ address }) => address === resource.address);
  return { ...plan, resources: [resource], warnings, guards: [], violations, summary: summaryOf([resource]) };
}

/** Returns the effect of the resource's versions on its calls, if requested; empty for a kind without versions. */
function callsSection(
  { address: workspace, actions, impacts }: WorkspaceDetail,
  address: string,
  { now, visitor }: ViewContext,
): Html {
  if (kinds.get(kindOf(address))?.versions === undefined) return html``;
  const comparison = impacts?.get(address);
  const canCompare = actions.includes('compare-calls');
  const mayCompare = canCompare && mayPerform(visitor.person, 'compare-calls');
  const roleNote =
    canCompare && !mayCompare
      ? ' A comparison reads all calls from the platform, so only an approver may start one.'
      : '';
  const head = (about: Html | string, button: string) =>
    html`<div class="head"><h2>Versions and calls ${about}</h2>${mayCompare && button !== '' ? html`<div class="actions">${actionLink(workspace, 'compare-calls', button, address)}</div>` : ''}</div>`;
  if (comparison === undefined) {
    return html`<section id="calls" data-live>${head('', 'Compare versions')}<p class="empty">No comparison of the calls is stored.${roleNote}</p></section>`;
  }
  const { askedAt, askedBy, html: figures, problem } = comparison;
  const about = html`<small>of the last 30 days, as of ${timeWithAge(askedAt, now)}, requested by ${isolate(askedBy)}</small>`;
  const body =
    problem !== undefined
      ? html`<p class="panel bad">${isolate(problem)}</p>`
      : figures === undefined
        ? html`<p class="empty">Reading calls. The result will appear here.</p>`
        : trusted(figures);
  const isRunning = problem === undefined && figures === undefined;
  return html`<section id="calls" data-live>${head(about, isRunning ? '' : 'Compare again')}${body}</section>`;
}

export function comparisonLinks({ address, impacts }: WorkspaceDetail, now: Date): Html {
  if (impacts === undefined || impacts.size === 0) return html``;
  const item = ([resource, { askedAt, html: figures, problem }]: readonly [
    string,
    NonNullable<ReturnType<typeof impacts.get>>,
  ]) =>
    html`<li><div>${resourceLink(address, resource, 'calls')} <span class="faint">${problem !== undefined ? 'failed' : figures === undefined ? 'being read' : 'compared'} ${timeWithAge(askedAt, now)}</span></div></li>`;
  return html`<h2>Calls</h2><ul class="tasks">${[...impacts].map(item)}</ul>`;
}
