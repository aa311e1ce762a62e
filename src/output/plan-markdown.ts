import type { PlanDocument, PlannedResource } from '../engine/plan-document.ts';
import { actionWords, byAction, planSummary, shownActions } from './action-words.ts';
import { driftGroups, driftSummary } from './drift-words.ts';
import { createSecretNumbers } from './field-view.ts';
import { MarkdownPage } from './markdown-page.ts';
import { markdownCode, markdownText } from './markdown-text.ts';
import { details, type RowWords, TABLE_HEADING, tableRow } from './resource-markdown.ts';

/** How full of warnings, then of steps, then of rows the page may be at most. */
const bounds = { warnings: 0.15, steps: 0.45, table: 0.6 };

/** Where the page is not all that a comment holds. */
export interface MarkdownPlace {
  /** Characters. */
  readonly limit?: number;
  /** Shows all of it. */
  readonly command?: string;
}

/**
 * A plan as a comment on a pull request, of at most 65,536 characters: counts, warnings, what is to be done by hand, a table, and
 * the fields of each resource, folded.
 */
export function planMarkdown(plan: PlanDocument, place: MarkdownPlace = {}): string {
  const of = byAction(plan.resources);
  const shown = shownActions.flatMap(of);
  const page = begun(plan, 'plan', { place, summary: planSummary(plan) });
  const pending = shown.filter(({ steps = [] }) => steps.length > 0);
  page.addList('#### By hand', pending.flatMap(checklist), bounds.steps);
  const listed = shown.map((resource) => ({ resource, words: wordsOf(resource) }));
  addResources(page, listed, 'manifest');
  return page.text(place.command ?? 'voxform plan');
}

/** The same for what `driftOf` found: each field from what the manifest says to what the platform has. */
export function driftMarkdown(drift: PlanDocument, place: MarkdownPlace = {}): string {
  const page = begun(drift, 'drift', { place, summary: driftSummary(drift) });
  const listed = driftGroups(drift.resources).flatMap(({ heading, symbol, resources }) =>
    resources.map((resource) => ({ resource, words: { symbol, action: heading.toLowerCase() } })),
  );
  addResources(page, listed, 'platform');
  return page.text(place.command ?? 'voxform drift');
}

interface Beginning {
  readonly place: MarkdownPlace;
  readonly summary: readonly string[];
}

function begun(plan: PlanDocument, what: string, { place, summary }: Beginning): MarkdownPage {
  const page = new MarkdownPage(place.limit);
  const workspace = markdownCode(plan.workspace.slice(0, 100));
  page.add(`### voxform ${what} for ${workspace}\n\n**${markdownText(summary.join(' '))}**`);
  page.addList('', remarksOf(plan), bounds.warnings);
  return page;
}

interface Listed {
  readonly resource: PlannedResource;
  readonly words: RowWords;
}

function addResources(page: MarkdownPage, listed: readonly Listed[], towards: 'manifest' | 'platform'): void {
  page.addList(
    TABLE_HEADING,
    listed.map(({ resource, words }) => tableRow(resource, words)),
    bounds.table,
  );
  const views = { secrets: createSecretNumbers(), verbose: false, towards };
  for (const { resource, words } of listed) {
    if (page.isFull) page.omit();
    else page.add(...details(resource, words, views));
  }
}

function wordsOf({ action }: PlannedResource): RowWords {
  const { symbol, heading } = actionWords[action];
  return { symbol, action: heading.toLowerCase() };
}

function remarksOf({ guards, warnings }: PlanDocument): string[] {
  return [
    ...guards.map(
      ({ flag, message }) =>
        `- **An apply of this plan is refused:** ${markdownText(message)} (${markdownCode(flag)} lifts this)`,
    ),
    ...warnings.map(
      ({ address, message }) =>
        `- **Warning:** ${address === null ? '' : `${markdownCode(address)}: `}${markdownText(message)}`,
    ),
  ];
}

function checklist({ address, steps = [] }: PlannedResource): string[] {
  return steps.map((step) => `- [ ] ${markdownCode(address)}: ${markdownText(step)}`);
}
