import { type Html, html } from '../../output/html/html.ts';
import { type Overview, type Standing, standings } from '../page-data.ts';
import { badge, facts, grouped, standingWords, type ViewContext } from './parts.ts';
import { attentionTable } from './rows-table.ts';
import { problemPanel } from './workspace-view.ts';

/** The number of workspaces of each status, as links; those that need a person; those that are stale. */
export function overviewView(
  { counts, attention, stale, broken, facts: known }: Overview,
  { now }: ViewContext,
): Html {
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const tile = (standing: Standing) => {
    const count = counts.get(standing) ?? 0;
    const { meaning } = standingWords[standing];
    return html`<li><a href="/workspaces?status=${standing}"><strong>${grouped(count)}</strong>${badge(standing)}<small>${meaning}</small></a></li>`;
  };
  const some = standings.filter((standing) => (counts.get(standing) ?? 0) > 0);
  const none = standings.filter((standing) => !some.includes(standing));
  return html`<h1>Overview</h1>
<div id="overview" data-live><p class="where">${grouped(total)} ${total === 1 ? 'workspace' : 'workspaces'}</p>
${some.length === 0 ? '' : html`<ul class="tiles">${some.map(tile)}</ul>`}
${none.length === 0 ? '' : html`<p class="where" id="none">None: ${none.map((standing) => standingWords[standing].word).join(', ')}</p>`}
<section><h2>Needs a person</h2>${broken.map(({ project, problem }) => problemPanel({ heading: `Project ${project}`, lines: [problem] }))}${attention.length > 0 ? attentionTable(attention, now) : broken.length > 0 ? '' : html`<p class="empty">${total === 0 ? 'No workspaces yet.' : 'Nothing needs a person.'}</p>`}</section>
${stale.length === 0 ? '' : html`<section><h2>Stale</h2>${attentionTable(stale, now)}</section>`}
${known.length === 0 ? '' : html`<section><h2>Operation</h2>${facts(known, now)}</section>`}</div>`;
}
