import type { PlanDocument, PlannedResource } from '../../engine/plan/plan-document.ts';
import { positionText } from '../../problems/diagnostic.ts';
import { commandFor, type WorkspaceSelection } from '../../problems/workspace-command.ts';
import type { WorkspaceFailure } from '../../runs/plans-document.ts';
import { actionWords, appliedWrites, earlyEnd, skippedGroups } from '../action-words.ts';
import { addressList } from '../address-list.ts';
import { compact, type Statement } from '../compact.ts';
import { type FieldViewOptions, viewsOf } from '../field-view.ts';
import { sharedSteps, sharedStepText, withLinks } from '../grouped-steps.ts';
import { MAX_COMMENT_LENGTH, MarkdownPage, markdownCode, markdownLink, markdownText, tableLine } from '../markdown.ts';
import { guardFlags, helpText, isTask, stepText, wordedWarnings } from '../next-steps.ts';
import { plural } from '../plural.ts';
import {
  groupedRemarks,
  namedViolations,
  noteTexts,
  type ViolationGroup,
  violationGroups,
  violationPosition,
} from '../remarks-text.ts';
import {
  changedGroups,
  outcomeOf,
  type Report,
  type ReportGroup,
  type ReportOptions,
  type ReportSet,
  selectionOf,
} from '../report.ts';
import { adoptionList, details, type RowWords, TABLE_HEADING, tableRow } from '../resource-markdown.ts';
import type { ReportFormat } from './format.ts';

export const format: ReportFormat = { report: reportMarkdown, reportSet: reportSetMarkdown };

const FORMATS = { text: markdownText, code: markdownCode };

/** The maximum share of the page that is used after each section. */
const bounds = { urgent: 0.2, warnings: 0.3, steps: 0.4, table: 0.55, stepsAfter: 0.6, earlierSteps: 0.65, notes: 0.7 };

interface MarkdownOptions extends ReportOptions {
  /** The maximum size in bytes, if the page is only part of a comment. */
  readonly limit?: number;
  /** The command that prints the whole report. */
  readonly command?: string;
  /** True to omit the title and the summary, which the caller writes. */
  readonly isUntitled?: boolean;
}

/**
 * Returns a comment within GitHub's limit: counts, failures, warnings, a table, manual steps, notes on unchanged resources, and the folded
 * fields of each resource. After an apply, the manual steps come before the table.
 */
export function reportMarkdown(
  report: Report,
  { limit, command, full = false, quiet, selection, isUntitled = false }: MarkdownOptions = {},
): string {
  const { type, document, summary, pending } = report;
  const page = new MarkdownPage(limit);
  const workspace = markdownCode(document.workspace.slice(0, 100));
  if (!isUntitled) page.add(`### voxform ${type} for ${workspace}\n\n**${markdownText(summary.join(' '))}**`);
  const applied = type === 'apply';
  const wording = { full, selection };
  page.addList('', urgentIn(report, wording), { share: bounds.urgent, rest: moreItems });
  const checklist = ({ address, url, steps = [] }: PlannedResource): string[] =>
    steps
      .filter(isTask)
      .map((step) =>
        `- [ ] ${markdownCode(address)}: ${markdownText(stepText(step, selection))} ${markdownLink(url)}`.trimEnd(),
      );
  const isEarlier = ({ action }: PlannedResource) => action === 'manual';
  page.addList('', remarksOf(document, { ...wording, applied }), { share: bounds.warnings, rest: moreItems });
  const { shared, resources, without } = sharedSteps(pending, { ...wording, dashboard: document.dashboard });
  const formats = { ...FORMATS, link: markdownLink, ...(applied && { applied: { selection } }) };
  const steps = [
    ...shared.map((each) => `- [ ] ${sharedStepText(each, formats)}`),
    ...resources.filter((each) => !isEarlier(each)).flatMap(checklist),
  ];
  const addSteps = (share: number): void => {
    page.addList('#### Manual steps', steps, { share, rest: moreSteps });
    for (const { table } of shared) {
      if (table === undefined) continue;
      const escaped = { ...table, rows: table.rows.map((cells) => cells.map(markdownText)) };
      page.addTable('', { ...withLinks(escaped, markdownLink), share });
    }
  };
  if (applied) addSteps(bounds.steps);
  const listed = changedGroups(report).flatMap((group) =>
    group.resources.flatMap((resource) => {
      const remaining = without(resource);
      return remaining === undefined ? [] : [{ resource: remaining, words: wordsOf(resource, group, report) }];
    }),
  );
  const blocks = blocksOf(listed, viewsOf(report, { selection }), full);
  page.addList(
    TABLE_HEADING,
    blocks.filter(({ hasRow }) => hasRow).map(({ resources, words }) => tableRow(resources, words)),
    { share: bounds.table, rest: (count) => `| | ${count} more | | |` },
  );
  if (!applied) addSteps(bounds.stepsAfter);
  page.addList('#### Earlier manual steps', resources.filter(isEarlier).flatMap(checklist), {
    share: bounds.earlierSteps,
    rest: moreSteps,
  });
  const lists = applied ? commandFor('voxform status', selection) : '--full';
  const notes = quiet ? [] : noteTexts(document, { ...FORMATS, ...wording, lists }).map((text) => `- ${text}`);
  page.addList('#### Notes', notes, { share: bounds.notes, rest: moreItems });
  for (const { forms } of blocks) {
    if (page.isFull) page.omit();
    else page.add(...forms());
  }
  return page.text(command ?? `voxform ${applied ? 'status' : type}`);
}

/** Returns the symbol and the word for the result of a resource, or for its group if there is no result. */
function wordsOf(resource: PlannedResource, { key, symbol, heading }: ReportGroup, report: Report): RowWords {
  const outcome = outcomeOf(report, resource, undefined);
  if (outcome === undefined) return { symbol, action: heading.toLowerCase() };
  return { symbol: key === 'done' ? actionWords[resource.action].symbol : symbol, action: outcome.word };
}

/** Returns the reason why an apply ended early, the failures, and a line for each reason why resources were skipped. */
function urgentIn({ applied }: Report, { full, selection }: MarkdownWording): string[] {
  if (applied === undefined) return [];
  const ended = earlyEnd(applied);
  const writes = appliedWrites(applied);
  const failed = writes.flatMap(({ resource: { address }, result }) => {
    if (result.status !== 'failed') return [];
    const help = helpText(result, selection);
    const hint = help === undefined ? '' : ` (${markdownText(help)})`;
    return [`- **Failed:** ${markdownCode(address)}: ${markdownText(result.error)}${hint}`];
  });
  const skipped = skippedGroups(writes).map(({ because, addresses }) => {
    const lists = commandFor('voxform plan', selection);
    const names = addressList(addresses.map(markdownCode), full, { lists });
    return `- **Skipped:** ${names}: ${markdownText(because)}`;
  });
  return [...(ended === undefined ? [] : [`- **${markdownText(ended)}**`]), ...failed, ...skipped];
}

interface TableBlock {
  readonly resources: readonly PlannedResource[];
  readonly words: RowWords;
  /** False for several resources that share only remarks. */
  readonly hasRow: boolean;
  /** Returns the details in forms of decreasing length. */
  forms(): readonly string[];
}

/** The minimum number of imports without changes that are listed by name only. */
const MIN_ADOPTED = 12;

/** Returns the blocks of resources. Resources with the same result can share a block. */
function blocksOf(
  listed: readonly { readonly resource: PlannedResource; readonly words: RowWords }[],
  views: FieldViewOptions,
  full: boolean,
): TableBlock[] {
  const groups = Map.groupBy(listed, ({ words }) => JSON.stringify(words));
  return [...groups.values()].flatMap((group): TableBlock[] => {
    const [{ words } = { words: { symbol: '', action: '' } }] = group;
    const statements = compact(
      group.map(({ resource }) => resource),
      { views, full },
    );
    const adopted = statements.filter(isPlainAdoption).flatMap(({ resources }) => resources);
    const isList = !full && adopted.length >= MIN_ADOPTED;
    const list = { resources: adopted, words, hasRow: true, forms: () => adoptionList(adopted, words) };
    const others = statements.filter((each) => !(isList && isPlainAdoption(each)));
    return [...(isList ? [list] : []), ...others.map((each) => blockOf(each, words))];
  });
}

function blockOf(statement: Statement, words: RowWords): TableBlock {
  const { resources, fields, steps, released } = statement;
  const hasRow = resources.length === 1 || fields.length + steps.length + released.length > 0;
  return { resources, words, hasRow, forms: () => details(statement, words) };
}

function isPlainAdoption({ resources, fields, notices, released }: Statement): boolean {
  const isAdoption = resources.every(({ action, previous_address: was }) => action === 'adopt' && was === undefined);
  return isAdoption && fields.length + notices.length + released.length === 0;
}

interface MarkdownWording {
  readonly full: boolean;
  readonly selection: WorkspaceSelection;
}

function remarksOf(
  document: PlanDocument,
  { full, selection, applied }: MarkdownWording & { readonly applied: boolean },
): string[] {
  const warnings = wordedWarnings(document.warnings, selection, { full, lists: applied ? '' : '--full' });
  return [
    ...violationGroups(document).map((group) => violationLine(group, full)),
    ...document.guards.map(
      ({ guard, message }) =>
        `- **Apply refuses this plan:** ${markdownText(message)} (override: ${markdownCode(guardFlags[guard])})`,
    ),
    ...groupedRemarks(warnings, full, { ...FORMATS, ...(applied && { lists: '' }) }).map(
      (text) => `- **Warning:** ${text}`,
    ),
  ];
}

const VIOLATION_LABELS = { denied: 'Denied by', waived: 'Policy', warning: 'Warning:' } as const;

function violationLine(group: ViolationGroup, full: boolean): string {
  const { named, more } = namedViolations(group, full);
  const names = [
    ...named.map((each) => {
      const position = violationPosition(each);
      return `${markdownCode(each.address)}${position === '' ? '' : ` (${markdownCode(position)})`}`;
    }),
    ...(more > 0 ? [`and ${more} more`] : []),
  ];
  return `- **${VIOLATION_LABELS[group.status]}** ${markdownText(group.text)} ${names.join(', ')}`;
}

function moreItems(count: number): string {
  return `- ${count} more`;
}

function moreSteps(count: number): string {
  return `- [ ] ${count} more`;
}

interface ReportSetOptions extends Pick<MarkdownOptions, 'full' | 'quiet'> {
  /** True to fold the report of each workspace if there are several. */
  readonly folds?: boolean;
  readonly wordOf?: (failure: WorkspaceFailure) => string;
  /** Returns the workspace selection for the commands in a report. */
  readonly selectionOf?: (report: Report) => WorkspaceSelection;
}

/** The minimum number of characters for a partial report. With less space, the report is omitted. */
const MIN_REPORT_LENGTH = 600;

/** Returns a table, the failures, and as much of each report as fits in 65,536 characters, unless the table alone is longer. */
export function reportSetMarkdown(
  { type, reports, failures, remarks = [] }: ReportSet,
  {
    full,
    quiet,
    folds = false,
    selectionOf: selectionFor = selectionOf,
    wordOf = () => 'failed',
  }: ReportSetOptions = {},
): string {
  const rows = [
    ...failures.map((failure) => [markdownCode(failure.workspace), `**${wordOf(failure)}**`]),
    ...reports.map(({ document, summary }) => [markdownCode(document.workspace), markdownText(summary.join(' '))]),
    ...remarks.map(({ workspace, text }) => [markdownCode(workspace), markdownText(text)]),
  ].map(tableLine);
  const tag = rows.length === 1 ? '<details open>' : '<details>';
  const heading = `## voxform ${type} for ${plural(rows.length, 'workspace')}`;
  let page = `${heading}\n\n| Workspace | ${type === 'plan' ? 'Plan' : 'Drift'} |\n| --- | --- |\n${rows.join('\n')}\n`;
  for (const [index, failure] of failures.entries()) {
    const room = (MAX_COMMENT_LENGTH - page.length) / (failures.length - index + reports.length);
    const title = `### ${markdownCode(failure.workspace)} ${wordOf(failure)}`;
    const block = `${title}\n\n${failureMarkdown(failure)}`;
    page += `\n${block.length < room ? block : `${title}\n\n_Too long to show here._`}\n`;
  }
  for (const [index, report] of reports.entries()) {
    const { document, summary } = report;
    const [opening, closing] = folds
      ? [
          `${tag}<summary>${markdownCode(document.workspace)}: ${markdownText(summary.join(' '))}</summary>\n\n`,
          '\n</details>\n',
        ]
      : ['', ''];
    const share = (MAX_COMMENT_LENGTH - page.length) / (reports.length - index) - 1;
    const limit = share - opening.length - closing.length;
    if (limit < MIN_REPORT_LENGTH)
      return `${page}\n_Too long to show here: ${plural(reports.length - index, type)}._\n`;
    const selection = selectionFor(report);
    const command = commandFor(`voxform ${type}`, selection);
    const text = reportMarkdown(report, { limit, command, full, quiet, selection, isUntitled: folds });
    if (text.trim() !== '') page += `\n${opening}${text}${closing}`;
  }
  return page;
}

function failureMarkdown({ message, hint, diagnostics = [] }: WorkspaceFailure): string {
  const [first = '', ...lines] = message.split('\n');
  const places = [
    ...lines.map((line) => `- ${markdownText(line)}`),
    ...diagnostics.map((each) => `- ${markdownCode(positionText(each))} ${markdownText(each.message)}`),
  ];
  const paragraphs = [first, hint].filter((text) => text !== undefined).map(markdownText);
  return [...paragraphs, ...(places.length === 0 ? [] : [places.join('\n')])].join('\n\n');
}
