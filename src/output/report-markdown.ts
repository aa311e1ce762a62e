import type { PlanDocument, PlannedResource } from '../engine/plan-document.ts';
import { createSecretNumbers } from './field-view.ts';
import { MarkdownPage } from './markdown-page.ts';
import { markdownCode, markdownText } from './markdown-text.ts';
import { details, type RowWords, TABLE_HEADING, tableRow } from './resource-markdown.ts';

/** How full of warnings, then of steps, then of rows the page may be at most. */
const bounds = { urgent: 0.2, warnings: 0.3, steps: 0.45, table: 0.6 };

/** What a comment on a pull request says of a plan, a drift or an apply. */
export interface MarkdownReport {
  readonly what: 'plan' | 'drift' | 'apply';
  readonly document: PlanDocument;
  /** Sentences. */
  readonly summary: readonly string[];
  /** Lines of Markdown that come before everything else. */
  readonly urgent?: readonly string[];
  /** What is to be done by hand. */
  readonly pending: readonly PlannedResource[];
  /** Each resource with the words for it, in the order in which they are shown. */
  readonly listed: readonly Listed[];
  readonly towards: 'manifest' | 'platform';
  readonly place: MarkdownPlace;
}

/** Where the page is not all that a comment holds. */
export interface MarkdownPlace {
  /** Characters. */
  readonly limit?: number;
  /** Shows all of it. */
  readonly command?: string;
}

export interface Listed {
  readonly resource: PlannedResource;
  readonly words: RowWords;
}

/** A comment that fits GitHub's limit: counts, warnings, what is to be done by hand, a table, and the fields of each resource, folded. */
export function reportMarkdown(report: MarkdownReport): string {
  const { what, document, summary, urgent = [], pending, listed, towards, place } = report;
  const page = new MarkdownPage(place.limit);
  const workspace = markdownCode(document.workspace.slice(0, 100));
  page.add(`### voxform ${what} for ${workspace}\n\n**${markdownText(summary.join(' '))}**`);
  page.addList('', urgent, bounds.urgent);
  page.addList('', remarksOf(document), bounds.warnings);
  page.addList('#### By hand', pending.flatMap(checklist), bounds.steps);
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
  return page.text(place.command ?? `voxform ${what}`);
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
