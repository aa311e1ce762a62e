import { kindOf } from '../../manifests/resource.ts';
import { hasManualStep, remainingIn } from '../../operator/plan-after.ts';
import { MIN_SHARING } from '../../output/compact.ts';
import { type Html, html, joined } from '../../output/html/html.ts';
import { MAX_UNFOLDED } from '../../output/html/html-report.ts';
import { dashboardLink } from '../../output/html/resource-html.ts';
import { stepText } from '../../output/next-steps.ts';
import { plural } from '../../output/plural.ts';
import { linkHost } from '../../project/dashboard-address.ts';
import {
  RESOURCES_UNKNOWN,
  type ResourceQuery,
  type ResourceRow,
  ROWS_PER_PAGE,
  type WorkspaceDetail,
} from '../page-data.ts';
import {
  badgeClass,
  isolate,
  pager,
  pathOf,
  queryPath,
  resourceLink,
  selectField,
  timeWithAge,
  truncate,
  type ViewContext,
  wordBadge,
} from './parts.ts';

/** The order of statuses, most urgent first. A possible duplicate costs money until it is resolved. */
const urgency: Readonly<Record<ResourceRow['status'], number>> = {
  unknown: 0,
  blocked: 1,
  failed: 2,
  skipped: 3,
  'not applied': 4,
  drifted: 5,
  manual: 6,
  changed: 7,
  undeclared: 8,
  unpublished: 9,
  recorded: 10,
  'in sync': 11,
};

type Resources = Pick<WorkspaceDetail, 'resources' | 'remaining' | 'saved' | 'selection'>;

/** A resource with its detail, and with the manual steps that the plan on the same page does not show. */
export interface ListedResource extends ResourceRow {
  /** The dashboard link, if a manual step must be done there. */
  readonly url: string | undefined;
  readonly isPlanned: boolean;
  readonly lines: readonly string[];
}

/** Resources with the same status. Lines that they all share are in the heading. */
interface ResourceGroup {
  readonly status: ResourceRow['status'];
  readonly shared: readonly string[];
  readonly rows: readonly ListedResource[];
}

export function resourcePages(detail: Resources, query: ResourceQuery): number {
  return Math.max(1, Math.ceil(isFlat(detail, query) ? findResources(detail, query).length / ROWS_PER_PAGE : 1));
}

/** Returns each resource once, as of the last run: as a table if there are few, as folded groups, or as pages of search results. */
export function resourcesSection(
  detail: WorkspaceDetail,
  query: ResourceQuery,
  { now }: Pick<ViewContext, 'now'>,
): Html {
  const { resources, checkedAt } = detail;
  const asOf = checkedAt === undefined ? '' : html` <small>as of ${timeWithAge(checkedAt, now)}</small>`;
  const form = resources.length <= MAX_UNFOLDED && !isFiltered(query) ? '' : filterForm(detail, query);
  // The form is outside of live regions, because an update would remove typed text.
  return html`<section id="resources"><h2 id="resource-age" data-live>Resources${asOf}</h2>
${form}<div id="resource-list" data-live>${list(detail, query)}</div></section>`;
}

function list(detail: WorkspaceDetail, query: ResourceQuery): Html {
  const { address, resources, isUnread = false } = detail;
  if (resources.length === 0) return html`<p class="empty">${isUnread ? RESOURCES_UNKNOWN : 'No resources.'}</p>`;
  const rows = findResources(detail, query);
  if (rows.length === 0) return html`<p class="empty">No resource matches.</p>`;
  if (!isFlat(detail, query)) return groups(detail, rows);
  const { page } = query;
  const count = html`<p class="where">${rows.length} of ${plural(resources.length, 'resource')}</p>`;
  const onPage = rows.slice((page - 1) * ROWS_PER_PAGE, page * ROWS_PER_PAGE);
  return html`${isFiltered(query) ? count : ''}${table(
    onPage.map((row) => rowHtml(detail, row)),
    onPage,
  )}${pager(page, resourcePages(detail, query), (to) => listPath(address, { ...query, page: to }))}`;
}

function isFiltered({ q, kind, status }: Omit<ResourceQuery, 'page'>): boolean {
  return q !== undefined || kind !== undefined || status !== undefined;
}

function isFlat({ resources }: Resources, query: ResourceQuery): boolean {
  return isFiltered(query) || resources.length <= MAX_UNFOLDED;
}

/** Returns the number of resources by status, most urgent first, with links to the lists. */
export function resourceCounts({ address, resources, remaining, isOld }: WorkspaceDetail): Html {
  if (resources.length === 0) return html``;
  const manualSteps = (remaining?.resources ?? []).filter(hasManualStep).length;
  const counted = [...Map.groupBy(resources, ({ status }) => status)]
    .sort(([a], [b]) => urgency[a] - urgency[b])
    .map(
      ([status, { length }]) =>
        html`<a class="${badgeClass(status, isOld)}" href="${listPath(address, { status })}">${length} ${status}</a>`,
    );
  return html`<p class="counts"><span>${plural(resources.length, 'resource')}${manualSteps === 0 ? '' : `, ${manualSteps} with manual steps`}:</span> ${joined(counted, ' ')}</p>`;
}

/** Returns a form that the server handles, so that it works without scripts. */
function filterForm({ address, resources }: WorkspaceDetail, { q, kind, status }: ResourceQuery): Html {
  const kinds = [...new Set([...resources.map((each) => kindOf(each.address)), ...(kind ? [kind] : [])])];
  const statuses = [...new Set([...resources.map((each) => each.status), ...(status ? [status] : [])])];
  return html`<form class="filter" method="get" action="${pathOf(address)}#resources" role="search">
<label>Text<input type="search" name="q" value="${q ?? ''}" maxlength="255"></label>
${selectField('Kind', { name: 'kind', chosen: kind, values: kinds.sort() })}
${selectField('Status', { name: 'status', chosen: status, values: statuses })}
<button>Filter</button>${isFiltered({ q, kind, status }) ? html`<a class="button" href="${pathOf(address)}#resources">Clear</a>` : ''}</form>`;
}

/** The maximum size of the rows of all groups in bytes. Each group gets an equal share. The filter finds further rows. */
const MAX_GROUPS_BYTES = 24_000;

/** Opens groups with up to `MAX_UNFOLDED` rows in total. Groups of planned resources stay folded, because the plan shows them. */
function groups(detail: WorkspaceDetail, rows: readonly ListedResource[]): Html {
  const { address, isOld } = detail;
  let unfolded = MAX_UNFOLDED;
  let spareBytes = 0;
  return html`${groupsOf(rows).map((group, _, all) => {
    const { status, shared, rows: members } = group;
    const hasUnplanned = urgency[status] < urgency.recorded && members.some(({ isPlanned }) => !isPlanned);
    const isOpen = hasUnplanned && members.length <= unfolded;
    if (isOpen) unfolded -= members.length;
    const markup: Html[] = [];
    spareBytes += MAX_GROUPS_BYTES / all.length;
    for (const member of members) {
      const row = rowHtml(detail, member, group);
      spareBytes -= Buffer.byteLength(row.text);
      if (spareBytes < 0) break;
      markup.push(row);
    }
    spareBytes = Math.max(0, spareBytes);
    const rest = members.length - markup.length;
    return html`<details class="group"${isOpen ? html` open` : ''}><summary>${wordBadge(status, isOld)} <strong>${plural(members.length, 'resource')}</strong> <span class="faint">${isolate(truncate(shared.join('; ')))}</span></summary>${markup.length > 0 && table(markup, members.slice(0, markup.length), group)}${rest > 0 ? html`<p><a href="${listPath(address, { status })}">All with status ${status}</a>, ${rest} more</p>` : ''}</details>`;
  })}`;
}

function groupsOf(rows: readonly ListedResource[]): ResourceGroup[] {
  const byStatus = Map.groupBy(rows, ({ status }) => status);
  return [...byStatus].flatMap(([status, same]) => {
    const byLines = [...Map.groupBy(same, ({ lines }) => lines.join('\n')).values()];
    const isShared = ({ length }: readonly ListedResource[]) => length >= MIN_SHARING;
    const rest = byLines.filter((each) => !isShared(each)).flat();
    return [
      ...(rest.length === 0 ? [] : [{ status, shared: [], rows: rest }]),
      ...byLines.filter(isShared).map((each) => ({ status, shared: each[0]?.lines ?? [], rows: each })),
    ];
  });
}

type TableContext = Pick<WorkspaceDetail, 'address' | 'isOld'>;

/** Returns a table of resources. @param shown the rows as HTML. @param group the group whose heading contains status and shared lines. */
function table(shown: readonly Html[], rows: readonly ListedResource[], group?: ResourceGroup): Html {
  const hasLines = group === undefined || group.shared.length === 0;
  const hasDetails = hasLines && rows.some(({ lines }) => lines.length > 0);
  return html`<table class="rows"><thead><tr><th scope="col">Resource</th>${group === undefined ? html`<th scope="col">Status</th>` : ''}<th scope="col">Id</th>${hasDetails ? html`<th scope="col">Detail</th>` : ''}</tr></thead>
<tbody>${shown}</tbody></table>`;
}

function rowHtml({ address: workspace, isOld }: TableContext, row: ListedResource, group?: ResourceGroup): Html {
  const { address, id, url, status, lines } = row;
  const ownLines = group === undefined || group.shared.length === 0 ? lines : [];
  return html`<tr>
<td class="name">${resourceLink(workspace, address)}</td>
${group === undefined ? html`<td data-title="Status">${wordBadge(status, isOld)}</td>` : ''}
<td data-title="Id">${recordLink(id, url)}</td>
${ownLines.length > 0 ? html`<td class="text" data-title="Detail">${ownLines.slice(0, MAX_LINES).map((line) => html`<div>${isolate(truncate(line))}</div>`)}</td>` : ''}</tr>`;
}

/** Returns the id as a link to the dashboard; for an unknown create, a link to the list in which a person can find the record. */
function recordLink(id: string | null, url: string | undefined): Html {
  if (id === null) return dashboardLink(url);
  const idHtml = html`<code>${id}</code>`;
  return linkHost(url) === undefined ? idHtml : html`<a href="${url}" rel="noopener noreferrer">${idHtml}</a>`;
}

/** The maximum number of lines of a row. The page of the resource lists all of them. */
const MAX_LINES = 4;

/** Returns the matching resources, most urgent first. */
export function findResources(
  { resources, remaining, saved, selection }: Resources,
  { q = '', kind, status }: Partial<ResourceQuery> = {},
): ListedResource[] {
  const planned = new Set(remainingIn(saved?.plan ?? remaining).map(({ address }) => address));
  const resourcesByAddress = new Map((remaining?.resources ?? []).map((each) => [each.address, each]));
  const words = q.toLowerCase().split(/\s+/);
  return resources
    .map((row): ListedResource => {
      const { address, detail } = row;
      const isPlanned = planned.has(address);
      const { url, steps = [] } = resourcesByAddress.get(address) ?? {};
      const openSteps = isPlanned ? [] : steps;
      const lines = [detail, ...openSteps.map((step) => stepText(step, selection))].filter((line) => line !== '');
      return { ...row, url, isPlanned, lines };
    })
    .filter((row) => {
      const text = [row.address, row.id, row.status, ...row.lines].join('\n').toLowerCase();
      const isWanted = (kind ?? kindOf(row.address)) === kindOf(row.address) && (status ?? row.status) === row.status;
      return isWanted && words.every((each) => text.includes(each));
    })
    .sort((a, b) => urgency[a.status] - urgency[b.status]);
}

function listPath(workspace: string, query: Partial<ResourceQuery>): string {
  return `${queryPath(pathOf(workspace), query)}#resources`;
}
