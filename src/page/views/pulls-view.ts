import { planDocument } from '../../engine/plan/plan-schema.ts';
import type { ListedPull, PullResult, PullRow, PullsProblem, ShownPullPlan } from '../../fleet/rows/pull-rows.ts';
import { type Html, html } from '../../output/html/html.ts';
import { addressText, factList, isolate, pathOf, timeWithAge, type ViewContext } from './parts.ts';
import { planOf } from './workspace-view.ts';

const tones: Readonly<Record<PullResult, string>> = {
  changes: 'change',
  unchanged: 'good',
  denied: 'bad',
  invalid: 'bad',
  failed: 'bad',
  new: 'change',
  removed: 'change',
  validated: 'good',
};

function badgeOf(result: PullResult): Html {
  return html`<span class="badge ${tones[result]}">${result}</span>`;
}

function pullPath({ source, number }: Pick<PullRow, 'source' | 'number'>): string {
  return `/pulls/${encodeURIComponent(source)}/${number}`;
}

/** Returns the pull requests of all sources: open ones first, then the latest merged and closed ones. */
export function pullsView(pulls: readonly ListedPull[], problems: readonly PullsProblem[], { now }: ViewContext): Html {
  const problemPanel = ({ source, message, since }: PullsProblem) =>
    html`<p class="panel bad">The pull requests of ${isolate(source)} cannot be read${since !== null && html` since ${timeWithAge(new Date(since), now)}`}: ${isolate(message)}</p>`;
  const open = pulls.filter(({ state }) => state === 'open');
  const others = pulls.filter(({ state }) => state !== 'open');
  return html`<h1>Pull requests</h1><div id="pulls" data-live>${problems.map(problemPanel)}
${open.length === 0 ? html`<p class="empty">No open pull requests.</p>` : pullsTable(open, now)}
${others.length === 0 ? '' : html`<section><h2>Merged and closed</h2>${pullsTable(others, now)}</section>`}</div>`;
}

function pullsTable(pulls: readonly ListedPull[], now: Date): Html {
  const results = ({ workspaces }: ListedPull) => [...Map.groupBy(workspaces, ({ result }) => result)];
  const row = (pull: ListedPull) => html`<tr>
<td class="name short"><a href="${pullPath(pull)}">${isolate(`${pull.source}#${pull.number}`)}</a></td>
<td class="text" data-title="Title">${isolate(pull.title)}</td>
<td data-title="Author">${isolate(pull.author)}</td>
<td data-title="Since">${timeWithAge(new Date(pull.since), now)}</td>
<td data-title="Status">${pull.state === 'open' ? pull.status : pull.state}</td>
<td class="text" data-title="Workspaces">${results(pull).map(([result, { length }]) => html`<span class="count">${length} ${badgeOf(result)}</span> `)}</td></tr>`;
  return html`<table class="rows"><thead><tr><th scope="col">Request</th><th scope="col">Title</th><th scope="col">Author</th><th scope="col">Since</th><th scope="col">Status</th><th scope="col">Workspaces</th></tr></thead><tbody>${pulls.map(row)}</tbody></table>`;
}

/** Returns a pull request with its plans at the newest commit, and their outcomes after the merge. */
export function pullView(pull: PullRow, plans: readonly ShownPullPlan[], { now }: ViewContext): Html {
  const isPlanned = pull.plannedHead === pull.head;
  const status = isPlanned ? 'planned' : pull.state === 'open' ? 'planning' : 'not planned';
  return html`<p class="crumbs"><a href="/pulls">Pull requests</a></p><h1>${isolate(pull.title)}</h1>
<p class="where">${isolate(`${pull.source}#${pull.number}`)}</p>
<div id="pull" data-live>${factList(
    [
      ['State', pull.state],
      ['Plans', status],
      ['Author', pull.author],
      ['Branch', html`${isolate(pull.branch)} to ${isolate(pull.base)}${pull.isFork ? ', from a fork' : ''}`],
      ['Commit', pull.head],
      ['Planned', pull.plannedAt],
      ['Merged as', pull.mergedAs],
      ['Link', URL.canParse(pull.url) ? new URL(pull.url) : undefined],
    ],
    now,
  )}
${pull.problem === undefined ? '' : html`<p class="panel bad">${isolate(pull.problem)}</p>`}
${plans.length === 0 && isPlanned ? html`<p class="empty">No workspace is affected.</p>` : ''}
${plans.map(planPart)}</div>`;
}

function planPart({ address, result, plan, notes, problem, outcome, digest }: ShownPullPlan): Html {
  const selection = { member: address };
  const name = address.includes(':')
    ? html`<a href="${pathOf(address)}">${addressText(address)}</a>`
    : addressText(address);
  return html`<section><h2>${name} ${badgeOf(result)}</h2>
${digest === undefined ? '' : html`<p class="faint">Plan <code>${digest.slice(0, 12)}</code></p>`}
${notes.map((each) => html`<p class="where">${isolate(each)}</p>`)}
${outcome === undefined ? '' : html`<p><strong>${isolate(outcome)}</strong></p>`}
${problem === undefined ? '' : html`<div class="panel bad"><p>${isolate(problem.message)}</p><ul>${problem.places.map((each) => html`<li>${isolate(each)}</li>`)}</ul></div>`}
${plan === undefined ? '' : planOf(planDocument.parse(plan), { selection, fold: 'groups' })}</section>`;
}
