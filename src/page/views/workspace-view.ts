import { recordUrl } from '../../engine/plan/dashboard-links.ts';
import type { PlanDocument } from '../../engine/plan/plan-document.ts';
import { leftIn } from '../../operator/plan-after.ts';
import { planSummary } from '../../output/action-words.ts';
import { type Html, html } from '../../output/html/html.ts';
import { changesHtml, referencesHtml } from '../../output/html/html-report.ts';
import { addressHtml, dashboardLink } from '../../output/html/resource-html.ts';
import { planReport } from '../../output/report.ts';
import { commandFor } from '../../problems/workspace-command.ts';
import type { Orphan } from '../../state/state-document.ts';
import { may } from '../access/person.ts';
import {
  type ActionName,
  closingOutside,
  type ListedRun,
  type ResourceQuery,
  type ShownProblem,
  type WorkspaceDetail,
} from '../page-data.ts';
import {
  actionLink,
  addressText,
  badge,
  checked,
  decisions,
  facts,
  isolated,
  moment,
  runsTable,
  type ViewContext,
} from './parts.ts';
import { comparedCalls } from './resource-view.ts';
import { resourceCounts, resourcesSection } from './resources-view.ts';

const buttons: readonly (readonly [action: ActionName, text: string])[] = [
  ['run', 'Run now'],
  ['pause', 'Pause'],
  ['resume', 'Resume'],
];

/** Returns the page of a workspace: its status, plan, orphans, resources and history. */
export function workspaceView(detail: WorkspaceDetail, context: ViewContext, query: ResourceQuery): Html {
  const { address, status, since, checkedAt, running, nextRun, problems, left, runs } = detail;
  const { now, isSingle } = context;
  return html`<div class="head"><div>
${isSingle ? '' : html`<p class="crumbs"><a href="/workspaces">Workspaces</a></p>`}
<h1>${addressText(address)}</h1></div><div id="actions" data-live>${actionButtons(detail, context)}</div></div>
<div id="status" data-live><p class="status">${badge(status)} <span>since ${moment(since, now)}</span></p>${resourceCounts(detail)}
${facts(
  [
    ['Checked', checked({ checkedAt, isOld: detail.isOld && status !== 'stale' }, now)],
    ['Next run', running ? 'in progress' : nextRun === undefined ? unplanned(status) : moment(nextRun, now, true)],
    ['Mode', detail.mode],
    ...detail.facts,
  ],
  now,
)}
${problems.map((each) => problemPanel(each, MOST_LINES))}</div>
<section id="plan" data-live>${planPart(detail, context)}</section>
<section id="orphans" data-live>${orphansPart(detail, context)}</section>
${resourcesSection(detail, query, context)}
<section id="calls" data-live>${comparedCalls(detail, now)}</section>
<div id="graph" data-live>${left === undefined ? '' : referencesHtml(planReport(left))}</div>
<section id="history" data-live><h2>History</h2>${outsideHistory(detail)}${detail.stateProblem === undefined ? '' : problemPanel({ heading: 'The history cannot be read', lines: [detail.stateProblem] })}
${runs.length === 0 ? html`<p class="empty">${checkedAt === undefined ? 'No runs yet.' : 'No run changed anything.'}</p>` : history(address, runs, now)}</section>`;
}

/** The maximum number of lines of a problem. The page of the run has all lines. */
const MOST_LINES = 20;
/** The number of runs that are not folded. */
const MOST_RUNS = 10;

function history(workspace: string, runs: readonly ListedRun[], now: Date): Html {
  const rest = runs.slice(MOST_RUNS);
  const older = html`<details class="more"><summary>${rest.length} earlier</summary>${runsTable(workspace, rest, now)}</details>`;
  return html`${runsTable(workspace, runs.slice(0, MOST_RUNS), now)}${rest.length === 0 ? '' : older}`;
}

/** The maximum size of a plan's changes as HTML, in bytes. */
const ROOM = 24_000;

/** Returns the saved plan, or else the actions that remained after the last run. */
function planPart(detail: WorkspaceDetail, context: ViewContext): Html {
  const { checkedAt, saved, left, selection } = detail;
  const { now } = context;
  if (checkedAt === undefined && saved === undefined)
    return html`<h2>Plan</h2><p class="empty">The platform was not read yet.</p>`;
  const age = saved === undefined ? html`as of ${moment(checkedAt, now)}` : html`made ${moment(saved.madeAt, now)}`;
  const plan = saved?.plan ?? left;
  return html`<h2>Plan <small>${age}</small></h2>${decisions(detail, context)}${heldPart(detail)}${leftIn(plan).length === 0 ? html`<p class="empty">No changes.</p>` : planOf(plan, { selection, fold: 'groups', room: ROOM, elsewhere: html`, each on the page of <a href="#resources">its resource</a>` })}`;
}

function outsideHistory({ outside, selection }: WorkspaceDetail): Html {
  if (outside === undefined) return html``;
  const command = commandFor('voxform history', selection);
  return html`<p class="where">Runs of the fleet. All runs are in the history of the state, ${isolated(outside)}: <code>${command}</code></p>`;
}

function unplanned(status: WorkspaceDetail['status']): string {
  if (status === 'paused') return 'once it is resumed';
  return status === 'vanished' ? 'none' : 'after the current one';
}

function heldPart({ held }: WorkspaceDetail): Html {
  return held === undefined ? html`` : html`<p class="where">${held}</p>`;
}

export function planOf(plan: PlanDocument | undefined, options: Parameters<typeof changesHtml>[1]): Html {
  if (plan === undefined) return html``;
  return html`<div class="plan"><p class="summary">${planSummary(plan).join(' ')}</p>${changesHtml(plan, options)}</div>`;
}

function actionButtons({ address, actions }: WorkspaceDetail, { visitor, missingTokens }: ViewContext): Html {
  const able = buttons.filter(([action]) => actions.includes(action) && may(visitor.person, action));
  if (able.length > 0) {
    return html`<div class="actions">${able.map(([action, text]) => actionLink(address, action, text))}</div>`;
  }
  if (visitor.person !== undefined) return html``;
  return missingTokens === undefined ? html`` : html`<p class="faint">${missingTokens}</p>`;
}

/** @param most the maximum number of lines. */
export function problemPanel({ heading, lines }: ShownProblem, most = lines.length): Html {
  const more = lines.length - most;
  return html`<div class="panel bad"><h2>${heading}</h2><ul>${lines.slice(0, most).map((line) => html`<li>${isolated(line)}</li>`)}${more > 0 && html`<li>and ${more} more</li>`}</ul></div>`;
}

const MOST_ORPHANS = 20;

function orphansPart(
  { address: workspace, orphans, dashboard, actions, outside, selection }: WorkspaceDetail,
  { now, visitor }: ViewContext,
): Html {
  if (orphans.length === 0) return html``;
  const canClose = actions.includes('close-orphan') && may(visitor.person, 'close-orphan');
  const item = ({ address, kind, id, reason, since }: Orphan) =>
    html`<li><div>${addressHtml(address)} <code>${id}</code> <span class="faint">${reason} ${moment(new Date(since), now)}</span> ${dashboardLink(recordUrl({ dashboard }, { kind, id }))} ${canClose ? actionLink(workspace, 'close-orphan', 'Close', id) : ''}</div></li>`;
  return html`<h2>Orphans (${orphans.length})</h2><p class="faint">Records that are no longer managed and may still be active. Delete them in the dashboard, then close them${outside === undefined ? ' here.' : `. ${closingOutside(outside, 'ID', selection)}`}</p><ul class="tasks">${orphans.slice(0, MOST_ORPHANS).map(item)}</ul>${orphans.length > MOST_ORPHANS ? html`<p class="faint">and ${orphans.length - MOST_ORPHANS} more</p>` : ''}`;
}
