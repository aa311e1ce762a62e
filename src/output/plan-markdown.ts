import type { ApplyReport, ResourceResult } from '../engine/apply/apply-report.ts';
import type { PlanDocument, PlannedResource } from '../engine/plan/plan-document.ts';
import { actionWords, byAction, planSummary, shownActions } from './action-words.ts';
import { addressList } from './address-list.ts';
import { type AppliedWrite, appliedIn, applySummary, earlyEnd, leftIn } from './apply-words.ts';
import { driftGroups, driftSummary } from './drift-words.ts';
import { markdownCode, markdownText } from './markdown-text.ts';
import { helpText, type WorkspaceFlag } from './next-steps.ts';
import { type ListedResource, type MarkdownPlace, reportMarkdown } from './report-markdown.ts';
import type { RowWords } from './resource-markdown.ts';

/** A plan as a comment on a pull request. */
export function planMarkdown(plan: PlanDocument, place: MarkdownPlace = {}): string {
  const shown = shownActions.flatMap(byAction(plan.resources));
  return reportMarkdown({
    what: 'plan',
    document: plan,
    summary: planSummary(plan),
    pending: shown.filter(({ steps = [] }) => steps.length > 0),
    listed: shown.map((resource) => ({ resource, words: wordsOf(resource) })),
    towards: 'manifest',
    place,
  });
}

/** The same for what `driftOf` found: each field from what the manifest says to what the platform has. */
export function driftMarkdown(drift: PlanDocument, place: MarkdownPlace = {}): string {
  const listed = driftGroups(drift.resources).flatMap(({ heading, symbol, resources }) =>
    resources.map((resource) => ({ resource, words: { symbol, action: heading.toLowerCase() } })),
  );
  return reportMarkdown({
    what: 'drift',
    document: drift,
    summary: driftSummary(drift),
    pending: [],
    listed,
    towards: 'platform',
    place,
  });
}

/** The same for what an apply did: what failed comes first, and why. */
export function applyMarkdown(
  report: ApplyReport,
  { full, workspaceFlag = '' }: Pick<MarkdownPlace, 'full' | 'workspaceFlag'> = {},
): string {
  const { plan, results, warnings } = report;
  const ended = earlyEnd(report);
  const applied = appliedIn(report);
  const withStatus = (status: ResourceResult['status']) =>
    applied.filter(({ result }) => result.status === status).map(({ resource }) => resource);
  const left = leftIn(report);
  const shown = [...withStatus('failed'), ...withStatus('skipped'), ...withStatus('done')];
  const listed = [...shown, ...left.filter(({ address }) => !results.has(address))].map(
    (resource): ListedResource => ({ resource, words: resultWords(resource, results.get(resource.address)) }),
  );
  return reportMarkdown({
    what: 'apply',
    document: { ...plan, guards: [], warnings },
    summary: applySummary(report),
    urgent: [
      ...(ended === undefined ? [] : [`- **${markdownText(ended)}**`]),
      ...applied.flatMap(({ resource, result }) => failureOf(resource, result, workspaceFlag)),
      ...skippedIn(applied, { full, workspaceFlag }),
    ],
    pending: left,
    listed,
    towards: 'manifest',
    place: { command: 'voxform status', full, workspaceFlag },
  });
}

function wordsOf({ action }: PlannedResource): RowWords {
  const { symbol, heading } = actionWords[action];
  return { symbol, action: heading.toLowerCase() };
}

function resultWords(resource: PlannedResource, result: ResourceResult | undefined): RowWords {
  if (result === undefined) return wordsOf(resource);
  const { symbol, done } = actionWords[resource.action];
  if (result.status === 'done') return { symbol, action: done };
  return { symbol: result.status === 'failed' ? 'x' : '-', action: result.status };
}

function failureOf({ address }: PlannedResource, result: ResourceResult, flag: WorkspaceFlag): string[] {
  if (result.status !== 'failed') return [];
  const help = helpText(result, flag);
  const hint = help === undefined ? '' : ` (${markdownText(help)})`;
  return [`- **Failed:** ${markdownCode(address)}: ${markdownText(result.error)}${hint}`];
}

/** A line for each reason. */
function skippedIn(
  applied: readonly AppliedWrite[],
  { full, workspaceFlag }: Pick<MarkdownPlace, 'full' | 'workspaceFlag'>,
): string[] {
  const skipped = applied.flatMap(({ resource: { address }, result }) =>
    result.status === 'skipped' ? [{ name: markdownCode(address), because: result.because }] : [],
  );
  return [...Map.groupBy(skipped, ({ because }) => because)].map(([because, members]) => {
    const names = members.map(({ name }) => name);
    return `- **Skipped:** ${addressList(names, full, { lists: `voxform plan${workspaceFlag}` })}: ${markdownText(because)}`;
  });
}
