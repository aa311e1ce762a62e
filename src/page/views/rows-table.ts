import { type Html, html } from '../../output/html/html.ts';
import type { Attention, ListQuery, Need, WorkspaceRow } from '../page-data.ts';
import { addressText, badge, checked, grouped, isolated, moment, pathOf, standingWords } from './parts.ts';

export const needWords: Readonly<Record<Need, string>> = {
  records: 'unconfirmed or missing records',
  refused: 'plans that a policy or guard refuses',
  steps: 'orphans or steps for a person',
};

export function listPath(query: Partial<ListQuery>): string {
  const parameters = new URLSearchParams();
  for (const [key, value] of Object.entries(query))
    if (value !== undefined) parameters.set(key, String(value));
  return `/workspaces?${parameters}`;
}

/** Workspaces as a table; on a phone each is a block. Each list that is cut ends with a link to all of it. */
export function rowsTable(
  lists: readonly (Pick<Attention, 'rows'> & { readonly all?: Html | undefined })[],
  now: Date,
): Html {
  const row = ({ address, standing, since, checkedAt, isOld, summary, mode }: WorkspaceRow) => html`<tr>
<td class="name"><a href="${pathOf(address)}">${addressText(address)}</a></td>
<td data-title="Status">${badge(standing)}</td>
<td data-title="Since">${moment(since, now)}</td>
<td data-title="Checked">${checked({ checkedAt, isOld: isOld && standing !== 'stale' }, now)}</td>
<td class="mode" data-title="Mode">${mode}</td>
<td class="text" data-title="Summary">${summary === '' ? '' : html`<div class="brief">${isolated(summary)}</div>`}</td></tr>`;
  const body = ({ rows, all }: (typeof lists)[number]) =>
    html`<tbody>${rows.map(row)}${all && html`<tr class="all"><td colspan="6">${all}</td></tr>`}</tbody>`;
  return html`<table class="rows"><thead><tr><th scope="col">Workspace</th><th scope="col">Status</th><th scope="col">Since</th><th scope="col">Checked</th><th scope="col" class="mode">Mode</th><th scope="col">Summary</th></tr></thead>
${lists.map(body)}</table>`;
}

/** Workspaces that need a person, by reason. */
export function attentionTable(lists: readonly Attention[], now: Date): Html {
  const all = ({ by, found, isCut }: Attention) => {
    const words = by.needs === undefined ? standingWords[by.status].word : `with ${needWords[by.needs]}`;
    return isCut ? html`<a href="${listPath(by)}">All ${grouped(found)} ${words}</a>` : undefined;
  };
  return rowsTable(
    lists.map((list) => ({ rows: list.rows, all: all(list) })),
    now,
  );
}
