import { type Html, html } from '../../output/html/html.ts';
import { plural } from '../../output/plural.ts';
import { MIN_SEARCH_LENGTH, ROWS_PER_PAGE, type SearchResult } from '../page-data.ts';
import { addressText, isolate, pager, pathOf, queryPath, resourceLink, statusBadge } from './parts.ts';

/** Returns the matching workspaces and resources. @param result undefined if the search text is too short. */
export function searchView(text: string, requestedPage: number, result: SearchResult | undefined): Html {
  const found = (shown: Html | string) => html`<h1>Search</h1>${shown}`;
  if (result === undefined)
    return found(
      html`<p class="empty">Type at least ${MIN_SEARCH_LENGTH} characters of a name, a phone number or an id.</p>`,
    );
  const { hits, isTruncated } = result;
  if (hits.length === 0)
    return found(
      html`<p class="empty">No match. The search matches the start of words in names and ids, and phone numbers.</p>`,
    );
  const pages = Math.ceil(hits.length / ROWS_PER_PAGE);
  const page = Math.min(requestedPage, pages);
  const shown = hits.slice((page - 1) * ROWS_PER_PAGE, page * ROWS_PER_PAGE);
  const row = ({ address, status, resource, match }: SearchResult['hits'][number]) => html`<tr>
<td class="name">${resource === undefined ? 'Workspace' : resourceLink(address, resource)}${resource === undefined || resource.toLowerCase().endsWith(`/${match}`) ? '' : html` <span class="faint">${isolate(match)}</span>`}</td>
<td class="text"><a href="${pathOf(address)}">${addressText(address)}</a></td>
<td data-title="Status">${statusBadge(status)}</td></tr>`;
  return found(html`<p class="where">${isTruncated ? `The first ${hits.length} results. Type more to find others.` : plural(hits.length, 'result')}</p>
<table class="rows"><thead><tr><th scope="col">Found</th><th scope="col">Workspace</th><th scope="col">Status</th></tr></thead><tbody>${shown.map(row)}</tbody></table>${pager(page, pages, (to) => queryPath('/search', { q: text, page: to }))}`);
}
