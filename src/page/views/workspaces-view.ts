import { MAX_COUNTED } from '../../operator/shown-workspace.ts';
import { type Need, needs, type WorkspaceStatus, workspaceStatuses } from '../../operator/workspace-status.ts';
import { type Html, html } from '../../output/html/html.ts';
import { mayPerform } from '../access/person.ts';
import {
  type AttentionList,
  type ListQuery,
  listOrders,
  type Overview,
  ROWS_PER_PAGE,
  type Trend,
  type WorkspaceList,
  type WorkspaceRow,
} from '../page-data.ts';
import {
  addressText,
  checkedTime,
  countText,
  factList,
  formatNumber,
  isolate,
  option,
  pager,
  pathOf,
  queryPath,
  selectField,
  statusBadge,
  statusWords,
  timeWithAge,
  type ViewContext,
} from './parts.ts';
import { problemPanel } from './workspace-view.ts';

/** Returns the overview: the number of workspaces by status, workspaces that need attention, and stale workspaces. */
export function overviewView(
  { counts, attention, stale, broken, trends, freezes, facts: fleetFacts }: Overview,
  context: ViewContext,
): Html {
  const { now } = context;
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const tile = (status: WorkspaceStatus) => {
    const count = counts.get(status) ?? 0;
    const { meaning } = statusWords[status];
    return html`<li><a href="/workspaces?status=${status}"><strong>${formatNumber(count)}</strong>${statusBadge(status)}<small>${meaning}</small></a></li>`;
  };
  const present = workspaceStatuses.filter((status) => (counts.get(status) ?? 0) > 0);
  const absent = workspaceStatuses.filter((status) => !present.includes(status));
  return html`<div class="head"><div><h1>Overview</h1></div><div id="actions" data-live>${freezeButton(context)}</div></div>
<div id="overview" data-live><p class="where">${formatNumber(total)} ${total === 1 ? 'workspace' : 'workspaces'}</p>
${present.length === 0 ? '' : html`<ul class="tiles">${present.map(tile)}</ul>`}
${absent.length === 0 ? '' : html`<p class="where" id="none">None: ${absent.map((status) => statusWords[status].word).join(', ')}</p>`}
${trends.length > 0 && html`<ul class="trends">${trends.map(trendPlot)}</ul>`}
<section><h2>Needs attention</h2>${broken.map(({ project, problem }) => problemPanel({ heading: `Project ${project}`, lines: [problem] }))}${attention.length > 0 ? attentionTable(attention, now) : broken.length > 0 ? '' : html`<p class="empty">${total === 0 ? 'No workspaces yet.' : 'Nothing needs attention.'}</p>`}</section>
${stale.length === 0 ? '' : html`<section><h2>Stale</h2>${attentionTable(stale, now)}</section>`}
${fleetFacts.length === 0 ? '' : html`<section><h2>Operation</h2>${factList(fleetFacts, now)}</section>`}
${freezes.length === 0 ? '' : html`<section id="freezes"><h2>Freezes</h2>${freezesTable(freezes, now)}</section>`}</div>`;
}

function freezesTable(freezes: Overview['freezes'], now: Date): Html {
  const row = ({ at, by, because, endedAt, endedBy }: Overview['freezes'][number]) => html`<tr>
<td data-title="Since">${timeWithAge(at, now)}</td>
<td class="by" data-title="By">${isolate(by)}</td>
<td data-title="Resumed">${endedAt === null ? 'not yet' : html`${timeWithAge(endedAt, now)} by ${isolate(endedBy ?? '')}`}</td>
<td class="text" data-title="Reason">${isolate(because)}</td></tr>`;
  return html`<table class="rows"><thead><tr><th scope="col">Since</th><th scope="col">By</th><th scope="col">Resumed</th><th scope="col">Reason</th></tr></thead>
<tbody>${freezes.map(row)}</tbody></table>`;
}

const size = { width: 240, height: 40, gap: 2 } as const;

const trendWords: Readonly<Record<Trend['name'], readonly [tone: string, words: string]>> = {
  runs: ['faint', 'runs'],
  failed: ['bad', 'failed runs'],
  drifted: ['change', 'runs that found drift'],
};

/** Returns a bar chart of counts per hour with their sum, or a line of text if the sum is zero. */
function trendPlot({ name, counts }: Trend): Html {
  const [tone, words] = trendWords[name];
  const sum = counts.reduce((total, count) => total + count, 0);
  if (sum === 0) return html`<li class="faint">No ${words} in 24 h</li>`;
  const max = Math.max(...counts);
  const step = size.width / counts.length;
  const bars = counts.map((count, index) => {
    const height = count === 0 ? 0 : Math.max(2, (count / max) * size.height);
    return html`<rect x="${(index * step).toFixed(1)}" y="${(size.height - height).toFixed(1)}" width="${(step - size.gap).toFixed(1)}" height="${height.toFixed(1)}"/>`;
  });
  const label = `${words} per hour in the last 24 hours, at most ${formatNumber(max)}`;
  return html`<li class="${tone}"><strong>${formatNumber(sum)}</strong> ${words} in 24 h<svg viewBox="0 0 ${size.width} ${size.height}" preserveAspectRatio="none" role="img" aria-label="${label}">${bars}</svg></li>`;
}

function freezeButton({ canFreeze, freeze, visitor }: ViewContext): Html {
  if (!canFreeze || freeze !== undefined || !mayPerform(visitor.person, 'freeze')) return html``;
  return html`<div class="actions"><a class="button" href="/freeze">Freeze the fleet</a></div>`;
}

const orderWords: Readonly<Record<ListQuery['sort'], string>> = {
  status: 'urgency',
  address: 'address',
  since: 'status, newest first',
  due: 'most overdue',
};

interface WorkspacePage extends WorkspaceList {
  readonly problems: readonly string[];
}

/** Returns one page of the matching workspaces, with the number of matches. */
export function workspacesView(query: ListQuery, list: WorkspacePage, { now }: ViewContext): Html {
  const { rows, found, total, sources, problems } = list;
  const isFiltered = [query.status, query.needs, query.source, query.label, query.q].some((each) => each !== undefined);
  return html`<h1>Workspaces</h1>
<form class="filter" method="get" action="/workspaces" role="search">
<label>Address<input type="search" name="q" value="${query.q ?? ''}" maxlength="255"></label>
${selectField('Status', { name: 'status', chosen: query.status, values: workspaceStatuses, wordOf: (each) => statusWords[each].word })}
${selectField('Needs', { name: 'needs', chosen: query.needs, values: needs, wordOf: (each) => needWords[each] })}
${sources.length > 1 && selectField('Source', { name: 'source', chosen: query.source, values: sources })}
<label>Label<input type="text" name="label" value="${query.label ?? ''}" placeholder="team=sales" maxlength="255"></label>
<label>Sort by<select name="sort">${listOrders.map((each) => option(each, orderWords[each], query.sort))}</select></label>
<button class="primary">Filter</button>${isFiltered ? html`<a class="button" href="/workspaces">Clear</a>` : ''}</form>
${problems.map((each) => html`<p class="panel change" role="alert">${each}</p>`)}
<div id="list" data-live><p class="where">${isFiltered ? `${countText(found)} of ` : ''}${countText(total)} ${total === 1 ? 'workspace' : 'workspaces'}${found > MAX_COUNTED && `. The first ${formatNumber(MAX_COUNTED)} are listed: filter to see others.`}</p>
${rows.length === 0 ? html`<p class="empty">${total === 0 ? 'No workspaces yet.' : 'No workspace matches.'}</p>` : rowsTable([{ rows }], now)}
${pager(query.page, pagesOf(list), (page) => queryPath('/workspaces', { ...query, limit: undefined, page }))}</div>`;
}

export function pagesOf({ found }: Pick<WorkspaceList, 'found'>): number {
  return Math.max(1, Math.ceil(Math.min(found, MAX_COUNTED) / ROWS_PER_PAGE));
}

const needWords: Readonly<Record<Need, string>> = {
  records: 'unconfirmed or missing records',
  refused: 'plans that a policy or guard refuses',
  steps: 'orphans or manual steps',
};

/** Returns a table of workspaces. On a phone, each row is a block. A truncated list ends with a link to the whole list. */
function rowsTable(
  lists: readonly (Pick<AttentionList, 'rows'> & { readonly all?: Html | undefined })[],
  now: Date,
): Html {
  const row = ({ address, status, since, checkedAt, isOld, summary, mode }: WorkspaceRow) => html`<tr>
<td class="name"><a href="${pathOf(address)}">${addressText(address)}</a></td>
<td data-title="Status">${statusBadge(status)}</td>
<td data-title="Since">${timeWithAge(since, now)}</td>
<td data-title="Checked">${checkedTime({ checkedAt, isOld: isOld && status !== 'stale' }, now)}</td>
<td class="mode" data-title="Mode">${mode}</td>
<td class="text" data-title="Summary">${summary === '' ? '' : html`<div class="brief">${isolate(summary)}</div>`}</td></tr>`;
  const body = ({ rows, all }: (typeof lists)[number]) =>
    html`<tbody>${rows.map(row)}${all && html`<tr class="all"><td colspan="6">${all}</td></tr>`}</tbody>`;
  return html`<table class="rows"><thead><tr><th scope="col">Workspace</th><th scope="col">Status</th><th scope="col">Since</th><th scope="col">Checked</th><th scope="col" class="mode">Mode</th><th scope="col">Summary</th></tr></thead>
${lists.map(body)}</table>`;
}

/** Returns the workspaces that need attention, by reason. */
function attentionTable(lists: readonly AttentionList[], now: Date): Html {
  const linkToAll = ({ filter, found, isTruncated }: AttentionList) => {
    const words = filter.needs === undefined ? statusWords[filter.status].word : `with ${needWords[filter.needs]}`;
    return isTruncated
      ? html`<a href="${queryPath('/workspaces', filter)}">${found > MAX_COUNTED ? 'More than' : 'All'} ${formatNumber(Math.min(found, MAX_COUNTED))} ${words}</a>`
      : undefined;
  };
  return rowsTable(
    lists.map((list) => ({ rows: list.rows, all: linkToAll(list) })),
    now,
  );
}
