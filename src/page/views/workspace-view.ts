import type { PlanDocument, PlannedResource } from '../../engine/plan/plan-document.ts';
import { isDoubtful, isForPerson } from '../../operator/plan-after.ts';
import { addressHtml } from '../../output/html/address-html.ts';
import { changesHtml, referencesHtml } from '../../output/html/html-report.ts';
import { stepText } from '../../output/next-steps.ts';
import { plural } from '../../output/plural.ts';
import { planReport } from '../../output/report.ts';
import { commandFor, type Reach } from '../../problems/workspace-command.ts';
import { statusOf } from '../../runs/resource-status.ts';
import type { Orphan } from '../../state/state-document.ts';
import { may } from '../access/person.ts';
import {
  type ActionName,
  closingOutside,
  type ResourceRow,
  type ShownProblem,
  UNREAD,
  type WorkspaceDetail,
} from '../page-data.ts';
import { leftIn } from '../report-standing.ts';
import { comparedCalls } from './calls-view.ts';
import { type Html, html, trusted } from './html.ts';
import {
  actionLink,
  addressText,
  badge,
  checked,
  facts,
  isolated,
  moment,
  pager,
  pathOf,
  resourceLink,
  runsTable,
  type ViewContext,
  word,
} from './parts.ts';

const RESOURCES_PER_PAGE = 50;

const buttons: readonly (readonly [action: ActionName, text: string])[] = [
  ['run', 'Run now'],
  ['pause', 'Pause'],
  ['resume', 'Resume'],
];

/** All about a workspace: how it stands, what is left to do, and what was done. */
export function workspaceView(detail: WorkspaceDetail, context: ViewContext, page: number): Html {
  const { address, standing, since, checkedAt, running, nextRun, problems, plan, runs } = detail;
  const { now, isSingle } = context;
  const asOf = checkedAt === undefined ? '' : html` <small>as of ${moment(checkedAt, now)}</small>`;
  return html`<div class="head"><div>
${isSingle ? '' : html`<p class="crumbs"><a href="/workspaces">Workspaces</a></p>`}
<h1>${addressText(address)}</h1></div><div id="actions" data-live>${actionButtons(detail, context)}</div></div>
<div id="standing" data-live><p class="standing">${badge(standing)} <span>since ${moment(since, now)}</span></p>
${facts(
  [
    ['Checked', checked({ checkedAt, isOld: detail.isOld && standing !== 'stale' }, now)],
    [
      'Next run',
      running ? 'in progress' : nextRun === undefined ? unplanned(standing) : moment(nextRun, now, true),
    ],
    ['Mode', detail.mode],
    ...detail.facts,
  ],
  now,
)}
${problems.map(problemPanel)}</div>
<section id="plan" data-live><h2>Plan${asOf}</h2>${planPart(detail, context)}</section>
<section id="todo" data-live>${todo(plan, detail.reach, address)}</section>
<section id="orphans" data-live>${orphansPart(detail, context)}</section>
<section id="resources" data-live><h2>Resources${asOf}</h2>${resourcesPart(detail, page)}</section>
<section id="calls" data-live>${comparedCalls(detail, now)}</section>
<div id="graph" data-live>${plan === undefined ? '' : trusted(referencesHtml(planReport(plan)))}</div>
<section id="history" data-live><h2>History</h2>${outsideHistory(detail)}${detail.stateProblem === undefined ? '' : problemPanel({ heading: 'The history cannot be read', lines: [detail.stateProblem] })}
${runs.length === 0 ? html`<p class="empty">${checkedAt === undefined ? 'No runs yet.' : 'No run changed anything.'}</p>` : runsTable(address, runs, now)}</section>`;

  function planPart(its: WorkspaceDetail, { visitor, missingTokens }: ViewContext): Html {
    if (checkedAt === undefined) return html`<p class="empty">The platform was not read yet.</p>`;
    const { waiting } = its;
    const decide =
      waiting !== undefined && visitor.person === undefined && missingTokens === undefined
        ? html`<p class="actions">${actionLink(address, 'approve', 'Sign in to approve', waiting.id)}</p>`
        : waiting !== undefined && may(visitor.person, 'approve')
          ? html`<p class="actions">${actionLink(address, 'approve', 'Approve', waiting.id)}${its.actions.includes('reject') ? actionLink(address, 'reject', 'Reject', waiting.id) : ''}</p>`
          : '';
    if (plan === undefined || leftIn(plan).length === 0)
      return html`${heldPart(its)}<p class="empty">No changes.</p>`;
    return html`${decide}${planOf(its)}`;
  }
}

function outsideHistory({ outside, reach }: WorkspaceDetail): Html {
  if (outside === undefined) return html``;
  const command = commandFor('voxform history', reach);
  return html`<p class="where">Runs of the fleet. All runs are in the history of the state, ${isolated(outside)}: <code>${command}</code></p>`;
}

function unplanned(standing: WorkspaceDetail['standing']): string {
  if (standing === 'paused') return 'once it is resumed';
  return standing === 'vanished' ? 'none' : 'after the current one';
}

function heldPart({ held }: WorkspaceDetail): Html {
  return held === undefined ? html`` : html`<p class="where">${held}</p>`;
}

/** What the report of a plan shows between its head and its foot. */
export function planOf(detail: WorkspaceDetail): Html {
  const { plan, reach } = detail;
  if (plan === undefined) return html``;
  const report = planReport(plan);
  return html`<div class="plan"><p class="summary">${report.summary.join(' ')}</p>${heldPart(detail)}${trusted(changesHtml(report, { reach }))}</div>`;
}

function actionButtons({ address, actions }: WorkspaceDetail, { visitor, missingTokens }: ViewContext): Html {
  const able = buttons.filter(([action]) => actions.includes(action) && may(visitor.person, action));
  if (able.length > 0) {
    return html`<div class="actions">${able.map(([action, text]) => actionLink(address, action, text))}</div>`;
  }
  if (visitor.person !== undefined) return html``;
  return missingTokens === undefined ? html`` : html`<p class="faint">${missingTokens}</p>`;
}

export function problemPanel({ heading, lines }: ShownProblem): Html {
  return html`<div class="panel bad"><h2>${heading}</h2><ul>${lines.map((line) => html`<li>${isolated(line)}</li>`)}</ul></div>`;
}

/** A possible duplicate is worse than what is not published yet. */
function urgency(resource: PlannedResource): number {
  const { steps = [], notices = [] } = resource;
  if (isDoubtful(resource)) return 0;
  return notices.length === 0 && steps.every((step) => step.action === 'publish') ? 2 : 1;
}

/** What no run does by itself. */
function todo(plan: PlanDocument | undefined, reach: Reach, workspace: string): Html {
  const open = (plan?.resources ?? []).filter(isForPerson).sort((a, b) => urgency(a) - urgency(b));
  if (open.length === 0) return html``;
  const item = (resource: PlannedResource) => {
    const { address, action, reason, notices = [], steps = [] } = resource;
    const why = action === 'noop' ? statusOf([resource])[0]?.status : reason;
    const lines = [...notices, ...steps.map((step) => stepText(step, reach))];
    return html`<li><div>${resourceLink(workspace, address)} <span class="faint">${why}</span><ul>${lines.map((line) => html`<li>${line}</li>`)}</ul></div></li>`;
  };
  return html`<h2>For a person (${open.length})</h2><ul class="tasks">${open.slice(0, RESOURCES_PER_PAGE).map(item)}</ul>${open.length > RESOURCES_PER_PAGE ? html`<p class="faint">and ${plural(open.length - RESOURCES_PER_PAGE, 'more resource')}</p>` : ''}`;
}

function orphansPart(
  { address: workspace, orphans, actions, outside, reach }: WorkspaceDetail,
  { now, visitor }: ViewContext,
): Html {
  if (orphans.length === 0) return html``;
  const canClose = actions.includes('close-orphan') && may(visitor.person, 'close-orphan');
  const item = ({ address, id, reason, since }: Orphan) =>
    html`<li><div>${trusted(addressHtml(address))} <code>${id}</code> <span class="faint">${reason} ${moment(new Date(since), now)}</span> ${canClose ? actionLink(workspace, 'close-orphan', 'Close', id) : ''}</div></li>`;
  return html`<h2>Orphans (${orphans.length})</h2><p class="faint">Records that are no longer managed and may still be active. Delete them in the dashboard, then close them${outside === undefined ? ' here.' : `. ${closingOutside(outside, 'ID', reach)}`}</p><ul class="tasks">${orphans.slice(0, RESOURCES_PER_PAGE).map(item)}</ul>${orphans.length > RESOURCES_PER_PAGE ? html`<p class="faint">and ${orphans.length - RESOURCES_PER_PAGE} more</p>` : ''}`;
}

export function resourcePages({ resources }: Pick<WorkspaceDetail, 'resources'>): number {
  return Math.max(1, Math.ceil(resources.length / RESOURCES_PER_PAGE));
}

function resourcesPart(
  { address: workspace, resources, isOld, isUnread = false }: WorkspaceDetail,
  page: number,
): Html {
  if (resources.length === 0) return html`<p class="empty">${isUnread ? UNREAD : 'No resources.'}</p>`;
  const counted = [...Map.groupBy(resources, ({ status }) => status)]
    .map(([status, { length }]) => `${length} ${status}`)
    .join(', ');
  const row = ({ address, id, status, detail }: ResourceRow) => html`<tr>
<td class="name">${resourceLink(workspace, address)}</td>
<td data-title="Status">${word(status, isOld)}</td>
<td data-title="Id">${id === null ? '' : html`<a class="resource-link" href="${pathOf(workspace, 'resources', address)}"><code>${id}</code></a>`}</td>
<td class="text" data-title="Detail">${isolated(detail)}</td></tr>`;
  return html`<p class="where">${counted}</p><table class="rows"><thead><tr><th scope="col">Resource</th><th scope="col">Status</th><th scope="col">Id</th><th scope="col">Detail</th></tr></thead>
<tbody>${resources.slice((page - 1) * RESOURCES_PER_PAGE, page * RESOURCES_PER_PAGE).map(row)}</tbody></table>${pager(page, resourcePages({ resources }), (to) => `${pathOf(workspace)}?page=${to}#resources`)}`;
}
