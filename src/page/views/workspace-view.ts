import { recordUrl } from '../../engine/plan/dashboard-links.ts';
import type { PlanDocument } from '../../engine/plan/plan-document.ts';
import { remainingIn } from '../../operator/plan-after.ts';
import { planSummary } from '../../output/action-words.ts';
import { type Html, html } from '../../output/html/html.ts';
import { changesHtml, referencesHtml } from '../../output/html/html-report.ts';
import { addressHtml, dashboardLink } from '../../output/html/resource-html.ts';
import { planReport } from '../../output/report.ts';
import { commandFor } from '../../problems/workspace-command.ts';
import type { Orphan } from '../../state/state-document.ts';
import { mayPerform } from '../access/person.ts';
import {
  type ActionName,
  closeElsewhereHint,
  type ListedRun,
  type ResourceQuery,
  type ShownProblem,
  type WorkspaceDetail,
} from '../page-data.ts';
import {
  actionLink,
  addressText,
  checkedTime,
  decisionLinks,
  factList,
  isolate,
  runsTable,
  statusBadge,
  timeWithAge,
  type ViewContext,
} from './parts.ts';
import { comparisonLinks } from './resource-view.ts';
import { resourceCounts, resourcesSection } from './resources-view.ts';

const buttons: readonly (readonly [action: ActionName, text: string])[] = [
  ['run', 'Run now'],
  ['pause', 'Pause'],
  ['resume', 'Resume'],
];

/** Returns the page of a workspace: its status, plan, orphans, resources and history. */
export function workspaceView(detail: WorkspaceDetail, context: ViewContext, query: ResourceQuery): Html {
  const { address, status, since, checkedAt, running, nextRun, problems, remaining, runs } = detail;
  const { now, isSingle } = context;
  return html`<div class="head"><div>
${isSingle ? '' : html`<p class="crumbs"><a href="/workspaces">Workspaces</a></p>`}
<h1>${addressText(address)}</h1></div><div id="actions" data-live>${actionButtons(detail, context)}</div></div>
<div id="status" data-live><p class="status">${statusBadge(status)} <span>since ${timeWithAge(since, now)}</span></p>${resourceCounts(detail)}
${factList(
  [
    ['Checked', checkedTime({ checkedAt, isOld: detail.isOld && status !== 'stale' }, now)],
    [
      'Next run',
      running ? 'in progress' : nextRun === undefined ? nextRunText(status) : timeWithAge(nextRun, now, true),
    ],
    ['Mode', detail.mode],
    ...detail.facts,
  ],
  now,
)}
${problems.map((each) => problemPanel(each, MAX_LINES))}</div>
<section id="plan" data-live>${planPart(detail, context)}</section>
<section id="orphans" data-live>${orphansPart(detail, context)}</section>
${resourcesSection(detail, query, context)}
<section id="calls" data-live>${comparisonLinks(detail, now)}</section>
<div id="graph" data-live>${remaining === undefined ? '' : referencesHtml(planReport(remaining))}</div>
<section id="history" data-live><h2>History</h2>${historyElsewhere(detail)}${detail.stateProblem === undefined ? '' : problemPanel({ heading: 'The history cannot be read', lines: [detail.stateProblem] })}
${runs.length === 0 ? html`<p class="empty">${checkedAt === undefined ? 'No runs yet.' : 'No run changed anything.'}</p>` : history(address, runs, now)}</section>`;
}

/** The maximum number of lines of a problem. The page of the run lists all of them. */
const MAX_LINES = 20;
const UNFOLDED_RUNS = 10;

function history(workspace: string, runs: readonly ListedRun[], now: Date): Html {
  const rest = runs.slice(UNFOLDED_RUNS);
  const older = html`<details class="more"><summary>${rest.length} earlier runs</summary>${runsTable(workspace, rest, now)}</details>`;
  return html`${runsTable(workspace, runs.slice(0, UNFOLDED_RUNS), now)}${rest.length === 0 ? '' : older}`;
}

/** The maximum size of a plan's changes as HTML, in bytes. */
const MAX_PLAN_BYTES = 24_000;

/** Returns the saved plan if any, otherwise the actions that remained after the last run. */
function planPart(detail: WorkspaceDetail, context: ViewContext): Html {
  const { checkedAt, saved, remaining, selection } = detail;
  const { now } = context;
  if (checkedAt === undefined && saved === undefined)
    return html`<h2>Plan</h2><p class="empty">The platform has not been read yet.</p>`;
  const age =
    saved === undefined ? html`as of ${timeWithAge(checkedAt, now)}` : html`made ${timeWithAge(saved.madeAt, now)}`;
  const plan = saved?.plan ?? remaining;
  return html`<h2>Plan <small>${age}</small></h2>${decisionLinks(detail, context)}${detail.held && html`<p class="where">${detail.held}</p>`}${remainingIn(plan).length === 0 ? html`<p class="empty">No changes.</p>` : planOf(plan, { selection, fold: 'groups', room: MAX_PLAN_BYTES, elsewhere: html`, each on the page of <a href="#resources">its resource</a>` })}`;
}

function historyElsewhere({ externalLocation, selection }: WorkspaceDetail): Html {
  if (externalLocation === undefined) return html``;
  const command = commandFor('voxform history', selection);
  return html`<p class="where">Only runs of the fleet are listed. The history of the state ${isolate(externalLocation)} has all runs: <code>${command}</code></p>`;
}

function nextRunText(status: WorkspaceDetail['status']): string {
  if (status === 'paused') return 'after it is resumed';
  return status === 'vanished' ? 'none' : 'after the current run';
}

export function planOf(plan: PlanDocument | undefined, options: Parameters<typeof changesHtml>[1]): Html {
  if (plan === undefined) return html``;
  return html`<div class="plan"><p class="summary">${planSummary(plan).join(' ')}</p>${changesHtml(plan, options)}</div>`;
}

function actionButtons({ address, actions }: WorkspaceDetail, { visitor, missingTokens }: ViewContext): Html {
  const allowed = buttons.filter(([action]) => actions.includes(action) && mayPerform(visitor.person, action));
  if (allowed.length > 0) {
    return html`<div class="actions">${allowed.map(([action, text]) => actionLink(address, action, text))}</div>`;
  }
  if (visitor.person !== undefined) return html``;
  return missingTokens === undefined ? html`` : html`<p class="faint">${missingTokens}</p>`;
}

/** Returns a panel with the messages of a problem. @param maxLines the maximum number of lines. */
export function problemPanel({ heading, lines }: ShownProblem, maxLines = lines.length): Html {
  const more = lines.length - maxLines;
  return html`<div class="panel bad"><h2>${heading}</h2><ul>${lines.slice(0, maxLines).map((line) => html`<li>${isolate(line)}</li>`)}${more > 0 && html`<li>and ${more} more</li>`}</ul></div>`;
}

const MAX_ORPHANS = 20;

function orphansPart(
  { address: workspace, orphans, dashboard, actions, externalLocation, selection }: WorkspaceDetail,
  { now, visitor }: ViewContext,
): Html {
  if (orphans.length === 0) return html``;
  const canClose = actions.includes('close-orphan') && mayPerform(visitor.person, 'close-orphan');
  const item = ({ address, kind, id, reason, since }: Orphan) =>
    html`<li><div>${addressHtml(address)} <code>${id}</code> <span class="faint">${reason} ${timeWithAge(new Date(since), now)}</span> ${dashboardLink(recordUrl({ dashboard }, { kind, id }))} ${canClose ? actionLink(workspace, 'close-orphan', 'Close', id) : ''}</div></li>`;
  return html`<h2>Orphans (${orphans.length})</h2><p class="faint">These records are no longer managed and may still be active. Delete them in the dashboard, then close them${externalLocation === undefined ? ' here.' : `. ${closeElsewhereHint(externalLocation, 'ID', selection)}`}</p><ul class="tasks">${orphans.slice(0, MAX_ORPHANS).map(item)}</ul>${orphans.length > MAX_ORPHANS ? html`<p class="faint">and ${orphans.length - MAX_ORPHANS} more</p>` : ''}`;
}
