import type { ApplyReport, ResourceResult } from '../../engine/apply/apply-report.ts';
import type { Action, PlanDocument, PlannedResource } from '../../engine/plan/plan-document.ts';
import {
  actionWords,
  appliedActions,
  byAction,
  pendingActions,
  planSummary,
  shownActions,
} from '../action-words.ts';
import { applySummary, earlyEnd, leftIn } from '../apply-words.ts';
import { driftGroups, driftSummary } from '../drift-words.ts';
import { helpText, type WorkspaceFlag } from '../next-steps.ts';
import { htmlReport, type Report, type ReportGroup } from './html-report.ts';
import { type HtmlOutcome, toneOf } from './resource-html.ts';

/** What the caller knows, or wants, of a page. */
export type PageOptions = Pick<Report, 'made' | 'full' | 'workspaceFlag'>;

/** A plan as a page in one file. */
export function planHtml(plan: PlanDocument, options: PageOptions = {}): string {
  return htmlReport({ ...planReport(plan), ...options });
}

export function planReport(plan: PlanDocument): Report {
  const of = byAction(plan.resources);
  return {
    what: 'plan',
    document: plan,
    summary: planSummary(plan),
    pending: plan.resources,
    groups: [...shownActions, 'noop' as const].map((action) => groupOf(action, of(action))),
    towards: 'manifest',
  };
}

/** What `driftOf` found, as a page in one file. */
export function driftHtml(drift: PlanDocument, options: PageOptions = {}): string {
  return htmlReport({ ...driftReport(drift), ...options });
}

export function driftReport(drift: PlanDocument): Report {
  const told = driftGroups(drift.resources);
  const groups = told.map(
    ({ heading, explanation, symbol, colorOf, resources }): ReportGroup => ({
      key: heading.toLowerCase(),
      heading,
      explanation,
      symbol,
      tone: toneOf[colorOf],
      resources,
    }),
  );
  return {
    what: 'drift',
    document: drift,
    summary: driftSummary(drift),
    pending: [],
    groups: [...groups, groupOf('noop', byAction(drift.resources)('noop'))],
    towards: 'platform',
    markOf: ({ address }) =>
      told.find(({ resources }) => resources.some((each) => each.address === address))?.heading.toLowerCase(),
  };
}

/** What an apply did, as a page in one file. */
export function applyHtml(report: ApplyReport, options: PageOptions = {}): string {
  const { plan, results, warnings } = report;
  const ended = earlyEnd(report);
  const of = byAction(plan.resources);
  const written = appliedActions.flatMap(of);
  const withStatus = (status: ResourceResult['status']) =>
    written.filter(({ address }) => results.get(address)?.status === status);
  return htmlReport({
    ...options,
    what: 'apply',
    document: { ...plan, warnings },
    summary: applySummary(report),
    pending: leftIn(report),
    groups: [
      { key: 'failed', heading: 'Failed', symbol: 'x', tone: 'bad', resources: withStatus('failed') },
      { key: 'skipped', heading: 'Skipped', symbol: '-', tone: 'change', resources: withStatus('skipped') },
      { key: 'done', heading: 'Done', symbol: '+', tone: 'good', resources: withStatus('done') },
      ...[...pendingActions, 'noop' as const].map((action) => groupOf(action, of(action))),
    ],
    towards: 'manifest',
    urgent: ended === undefined ? [] : [ended],
    outcome: (resource) => outcomeOf(resource, results.get(resource.address), options.workspaceFlag ?? ''),
    markOf: ({ address, action }) => results.get(address)?.status ?? (action === 'noop' ? undefined : action),
  });
}

function groupOf(action: Action, resources: readonly PlannedResource[]): ReportGroup {
  const { heading, explanation, symbol } = actionWords[action];
  return { key: action, heading, explanation, symbol, tone: toneOf[action], resources };
}

function outcomeOf(
  { action, id }: PlannedResource,
  result: ResourceResult | undefined,
  flag: WorkspaceFlag,
): HtmlOutcome | undefined {
  if (result === undefined) return undefined;
  const { status } = result;
  switch (status) {
    case 'done':
      return {
        word: actionWords[action].done,
        tone: 'good',
        said: result.id === null || result.id === id ? [] : [`Its id is ${result.id}.`],
      };
    case 'failed':
      return {
        word: 'failed',
        tone: 'bad',
        said: [result.error, helpText(result, flag)].filter((text) => text !== undefined),
      };
    case 'skipped':
      return { word: 'skipped', tone: 'change', said: [result.because] };
    default:
      return status satisfies never;
  }
}
