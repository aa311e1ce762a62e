import { type Html, html } from '../../output/html/html.ts';
import {
  type ListQuery,
  listOrders,
  needs,
  ROWS_PER_PAGE,
  standings,
  type WorkspaceList,
} from '../page-data.ts';
import { choice, grouped, option, pager, standingWords, type ViewContext } from './parts.ts';
import { listPath, needWords, rowsTable } from './rows-table.ts';

const orderWords: Readonly<Record<ListQuery['sort'], string>> = {
  standing: 'urgency',
  address: 'address',
  since: 'status, newest first',
  checked: 'longest unchecked',
};

interface Listed extends WorkspaceList {
  /** What the query asks for that there is not. */
  readonly unknown: readonly string[];
}

/** The workspaces that a query finds, counted and cut into pages. */
export function workspacesView(query: ListQuery, list: Listed, { now }: ViewContext): Html {
  const { rows, found, total, sources, unknown } = list;
  const isFiltered = [query.status, query.needs, query.source, query.label, query.q].some(
    (each) => each !== undefined,
  );
  return html`<h1>Workspaces</h1>
<form class="filter" method="get" action="/workspaces" role="search">
<label>Address contains<input type="search" name="q" value="${query.q ?? ''}" maxlength="255"></label>
${choice(
  'Status',
  'status',
  query.status,
  standings.map((each) => [each, standingWords[each].word]),
)}
${choice(
  'Needs',
  'needs',
  query.needs,
  needs.map((each) => [each, needWords[each]]),
)}
${
  sources.length > 1
    ? choice(
        'Source',
        'source',
        query.source,
        sources.map((each) => [each, each]),
      )
    : ''
}
<label>Label<input type="text" name="label" value="${query.label ?? ''}" placeholder="team=sales" maxlength="255"></label>
<label>Sorted by<select name="sort">${listOrders.map((each) => option(each, orderWords[each], query.sort))}</select></label>
<button class="primary">Filter</button>${isFiltered ? html`<a class="button" href="/workspaces">Clear</a>` : ''}</form>
${unknown.map((each) => html`<p class="panel change" role="alert">${each}</p>`)}
<div id="list" data-live><p class="where">${isFiltered ? `${grouped(found)} of ` : ''}${grouped(total)} ${total === 1 ? 'workspace' : 'workspaces'}</p>
${rows.length === 0 ? html`<p class="empty">${total === 0 ? 'No workspaces yet.' : 'No workspace matches.'}</p>` : rowsTable([{ rows }], now)}
${pager(query.page, pagesOf(list), (page) => listPath({ ...query, page }))}</div>`;
}

export function pagesOf({ found }: Pick<WorkspaceList, 'found'>): number {
  return Math.max(1, Math.ceil(found / ROWS_PER_PAGE));
}
