import { isForPerson, leftIn } from '../../operator/plan-after.ts';
import { FEWEST_SHARING } from '../../output/compact.ts';
import { type Html, html } from '../../output/html/html.ts';
import { MOST_UNFOLDED } from '../../output/html/html-report.ts';
import { dashboardLink } from '../../output/html/resource-html.ts';
import { stepText } from '../../output/next-steps.ts';
import { plural } from '../../output/plural.ts';
import { type ResourceQuery, type ResourceRow, ROWS_PER_PAGE, UNREAD, type WorkspaceDetail } from '../page-data.ts';
import { choice, isolated, moment, pager, pathOf, queryPath, resourceLink, type ViewContext, word } from './parts.ts';

/** Most urgent first: a possible duplicate costs money until somebody resolves it. */
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

type Resources = Pick<WorkspaceDetail, 'resources' | 'left' | 'saved' | 'reach'>;

/** A resource with its detail, and manual steps that the plan on the same page does not show. */
interface SaidRow extends ResourceRow {
  /** The dashboard link, if a person has something to do there. */
  readonly url: string | undefined;
  readonly isPlanned: boolean;
  readonly lines: readonly string[];
}

/** Rows of one status. Common lines are in the heading. */
interface ResourceGroup {
  readonly status: ResourceRow['status'];
  readonly shared: readonly string[];
  readonly rows: readonly SaidRow[];
}

export function resourcePages(detail: Resources, query: ResourceQuery): number {
  return Math.max(1, Math.ceil(isFlat(detail, query) ? found(detail, query).length / ROWS_PER_PAGE : 1));
}

/** Every resource once, as of the last run: a table of a few, otherwise folded groups, or pages of search results. */
export function resourcesSection(
  detail: WorkspaceDetail,
  query: ResourceQuery,
  { now }: Pick<ViewContext, 'now'>,
): Html {
  const { resources, checkedAt } = detail;
  const asOf = checkedAt === undefined ? '' : html` <small>as of ${moment(checkedAt, now)}</small>`;
  const form = resources.length <= MOST_UNFOLDED && !isFiltered(query) ? '' : filterForm(detail, query);
  // The form is outside of live regions: an update would remove typed text.
  return html`<section id="resources"><div id="resource-counts" data-live><h2>Resources${asOf}</h2>${resources.length === 0 ? '' : html`<p class="where">${countText(detail)}</p>`}</div>
${form}<div id="resource-list" data-live>${list(detail, query)}</div></section>`;
}

function list(detail: WorkspaceDetail, query: ResourceQuery): Html {
  const { address, resources, isUnread = false } = detail;
  if (resources.length === 0) return html`<p class="empty">${isUnread ? UNREAD : 'No resources.'}</p>`;
  const rows = found(detail, query);
  if (rows.length === 0) return html`<p class="empty">No resource matches.</p>`;
  if (!isFlat(detail, query)) return groups(detail, rows);
  const { page } = query;
  const count = html`<p class="where">${rows.length} of ${plural(resources.length, 'resource')}</p>`;
  const onPage = rows.slice((page - 1) * ROWS_PER_PAGE, page * ROWS_PER_PAGE);
  return html`${isFiltered(query) ? count : ''}${table(detail, onPage)}${pager(page, resourcePages(detail, query), (to) => listPath(address, { ...query, page: to }))}`;
}

function isFiltered({ q, status }: ResourceQuery): boolean {
  return q !== undefined || status !== undefined;
}

function isFlat({ resources }: Resources, query: ResourceQuery): boolean {
  return isFiltered(query) || resources.length <= MOST_UNFOLDED;
}

/** `60 resources, 12 for a person: 58 unpublished, 2 changed` */
function countText({ resources, left }: Resources): string {
  const person = (left?.resources ?? []).filter(isForPerson).length;
  const counted = [...Map.groupBy(resources, ({ status }) => status)]
    .sort(([a], [b]) => urgency[a] - urgency[b])
    .map(([status, { length }]) => `${length} ${status}`);
  const all = plural(resources.length, 'resource');
  return `${all}${person === 0 ? '' : `, ${person} with manual steps`}: ${counted.join(', ')}`;
}

/** The server filters, so that the form works without scripts. */
function filterForm({ address, resources }: WorkspaceDetail, { q, status }: ResourceQuery): Html {
  const known = [...new Set([...resources.map((each) => each.status), ...(status ? [status] : [])])];
  return html`<form class="filter" method="get" action="${pathOf(address)}#resources" role="search">
<label>Text<input type="search" name="q" value="${q ?? ''}" maxlength="255"></label>
${choice('Status', { name: 'status', chosen: status, values: known })}
<button>Filter</button>${isFiltered({ q, status, page: 1 }) ? html`<a class="button" href="${pathOf(address)}#resources">Clear</a>` : ''}</form>`;
}

/** The maximum number of rows of a group; the filter finds others. */
const MOST_IN_GROUP = 100;

/** The first groups are open while they are short. Those in the plan stay folded. */
function groups(detail: WorkspaceDetail, rows: readonly SaidRow[]): Html {
  const { address, isOld } = detail;
  let room = MOST_UNFOLDED;
  return html`${groupsOf(rows).map((group) => {
    const { status, shared, rows: members } = group;
    const isNew = urgency[status] < urgency.recorded && members.some(({ isPlanned }) => !isPlanned);
    const isOpen = isNew && members.length <= room;
    if (isOpen) room -= members.length;
    const rest = members.length - MOST_IN_GROUP;
    return html`<details class="group"${isOpen ? html` open` : ''}><summary>${word(status, isOld)} <strong>${plural(members.length, 'resource')}</strong> <span class="faint">${isolated(shared.join('; '))}</span></summary>${table(detail, members.slice(0, MOST_IN_GROUP), group)}${rest > 0 ? html`<p><a href="${listPath(address, { status })}">All that are ${status}</a>, ${rest} more</p>` : ''}</details>`;
  })}`;
}

function groupsOf(rows: readonly SaidRow[]): ResourceGroup[] {
  const byStatus = Map.groupBy(rows, ({ status }) => status);
  return [...byStatus].flatMap(([status, same]) => {
    const said = [...Map.groupBy(same, ({ lines }) => lines.join('\n')).values()];
    const isShared = ({ length }: readonly SaidRow[]) => length >= FEWEST_SHARING;
    const rest = said.filter((each) => !isShared(each)).flat();
    return [
      ...(rest.length === 0 ? [] : [{ status, shared: [], rows: rest }]),
      ...said.filter(isShared).map((each) => ({ status, shared: each[0]?.lines ?? [], rows: each })),
    ];
  });
}

/** @param group whose heading has the status and the common lines. */
function table(
  { address: workspace, isOld }: Pick<WorkspaceDetail, 'address' | 'isOld'>,
  rows: readonly SaidRow[],
  group?: ResourceGroup,
): Html {
  const hasLines = group === undefined || group.shared.length === 0;
  const isSaid = hasLines && rows.some(({ lines }) => lines.length > 0);
  const row = ({ address, id, url, status, lines }: SaidRow) => html`<tr>
<td class="name">${resourceLink(workspace, address)}</td>
${group === undefined ? html`<td data-title="Status">${word(status, isOld)}</td>` : ''}
<td data-title="Id">${id === null ? '' : html`<a class="resource-link" href="${pathOf(workspace, 'resources', address)}"><code>${id}</code></a>`} ${dashboardLink(url)}</td>
${isSaid ? html`<td class="text" data-title="Detail">${lines.map((line) => html`<div>${isolated(line)}</div>`)}</td>` : ''}</tr>`;
  return html`<table class="rows"><thead><tr><th scope="col">Resource</th>${group === undefined ? html`<th scope="col">Status</th>` : ''}<th scope="col">Id</th>${isSaid ? html`<th scope="col">Detail</th>` : ''}</tr></thead>
<tbody>${rows.map(row)}</tbody></table>`;
}

/** Most urgent first; otherwise in their order. */
function found({ resources, left, saved, reach }: Resources, { q = '', status }: ResourceQuery): SaidRow[] {
  const planned = new Set(leftIn(saved?.plan ?? left).map(({ address }) => address));
  const known = new Map((left?.resources ?? []).map((each) => [each.address, each]));
  const words = q.toLowerCase().split(/\s+/);
  return resources
    .map((row): SaidRow => {
      const { address, detail } = row;
      const isPlanned = planned.has(address);
      const { url, steps = [] } = known.get(address) ?? {};
      const open = isPlanned ? [] : steps;
      const lines = [detail, ...open.map((step) => stepText(step, reach))].filter((line) => line !== '');
      return { ...row, url, isPlanned, lines };
    })
    .filter((row) => {
      const text = [row.address, row.id, row.status, ...row.lines].join('\n').toLowerCase();
      return (status === undefined || row.status === status) && words.every((each) => text.includes(each));
    })
    .sort((a, b) => urgency[a.status] - urgency[b.status]);
}

function listPath(workspace: string, query: Partial<ResourceQuery>): string {
  return `${queryPath(pathOf(workspace), query)}#resources`;
}
