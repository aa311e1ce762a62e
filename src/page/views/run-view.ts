import { type Html, html } from '../../output/html/html.ts';
import type { RunDetail } from '../page-data.ts';
import { addressText, factList, isolate, pathOf, resourceLink, type ViewContext, wordBadge } from './parts.ts';
import { problemPanel } from './workspace-view.ts';

export function runView(workspace: string, run: RunDetail, { now }: ViewContext): Html {
  const { began, seconds, result, command, user, askedBy, problems, resources, more } = run;
  return html`<p class="crumbs"><a href="${pathOf(workspace)}">${addressText(workspace)}</a></p>
<h1>Run of ${began.toISOString().slice(0, 19).replace('T', ' ')} UTC</h1>
<p class="status">${wordBadge(result)}</p>
${factList(
  [
    ['Began', began],
    ['Duration', seconds === undefined ? undefined : `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`],
    ['Command', command],
    ['User', user],
    ['Requested by', askedBy],
    ['Id', run.id],
    ['Plan', run.plan && planPart(workspace, run.plan, run.planState)],
    ...run.facts,
  ],
  now,
)}
${problems.length === 0 ? '' : problemPanel({ heading: 'Problems', lines: problems })}
<section><h2>Resources</h2>${resources.length === 0 ? html`<p class="empty">${problems.length > 0 || run.summary === '' || run.summary === '-' ? 'This run changed nothing.' : run.summary}</p>` : resourcesTable(workspace, run)}
${more === 0 ? '' : html`<p class="faint">and ${more} more</p>`}</section>`;
}

const planStates: Readonly<Record<string, string>> = {
  waiting: 'waits for approval',
  approved: 'approved, not applied yet',
  rejected: 'rejected',
  applied: 'applied',
  stale: 'out of date',
};

/** Returns the id and the outcome of a plan, with a link if the page of the workspace shows the plan. */
function planPart(workspace: string, id: string, state = ''): Html {
  const isOpen = state === 'waiting' || state === 'approved';
  const idHtml = isOpen ? html`<a href="${pathOf(workspace)}#plan">${id}</a>` : id;
  return html`${idHtml}: ${planStates[state] ?? 'no longer stored'}`;
}

function resourcesTable(workspace: string, { resources }: RunDetail): Html {
  const row = ({ address, action, result, id, detail }: RunDetail['resources'][number]) => html`<tr>
<td class="name">${resourceLink(workspace, address)}</td><td data-title="Action">${action}</td>
<td data-title="Result">${wordBadge(result)}</td>
<td data-title="Id">${id === null ? '' : html`<code>${id}</code>`}</td>
<td class="text" data-title="Detail">${isolate(detail)}</td></tr>`;
  return html`<table class="rows"><thead><tr><th scope="col">Resource</th><th scope="col">Action</th><th scope="col">Result</th><th scope="col">Id</th><th scope="col">Detail</th></tr></thead>
<tbody>${resources.map(row)}</tbody></table>`;
}
