import type { PlanDocument, PlannedResource } from '../engine/plan/plan-document.ts';
import { compacted, type Statement } from './compact.ts';
import { createSecretNumbers } from './field-view.ts';
import { sharedSteps, sharedStepText } from './grouped-steps.ts';
import { MarkdownPage } from './markdown-page.ts';
import { markdownCode, markdownText } from './markdown-text.ts';
import { guardFlags, stepText, type WorkspaceFlag, wordedWarnings } from './next-steps.ts';
import { groupedRemarks, noopNotes } from './remarks-text.ts';
import { adoptionList, details, type RowWords, TABLE_HEADING, tableRow } from './resource-markdown.ts';

const FORMATS = { text: markdownText, code: markdownCode };

/** How full the page may be at most, of each part and what stands before it. */
const bounds = { urgent: 0.2, warnings: 0.3, steps: 0.4, table: 0.55, standing: 0.65, notes: 0.7 };

/** What a comment on a pull request says of a plan, a drift or an apply. */
interface MarkdownReport {
  readonly what: 'plan' | 'drift' | 'apply';
  readonly document: PlanDocument;
  /** Sentences. */
  readonly summary: readonly string[];
  /** Lines of Markdown that come before everything else. */
  readonly urgent?: readonly string[];
  /** What is to be done by hand. */
  readonly pending: readonly PlannedResource[];
  /** Each resource with the words for it, in the order in which they are shown. */
  readonly listed: readonly ListedResource[];
  readonly towards: 'manifest' | 'platform';
  readonly place: MarkdownPlace;
}

/** Where the page is not all that a comment holds. */
export interface MarkdownPlace {
  /** Characters. */
  readonly limit?: number;
  /** Shows all of it. */
  readonly command?: string;
  /** Says of each resource what many share. */
  readonly full?: boolean | undefined;
  readonly workspaceFlag?: WorkspaceFlag;
}

export interface ListedResource {
  readonly resource: PlannedResource;
  readonly words: RowWords;
}

/**
 * A comment that fits GitHub's limit: counts, warnings, what this change leaves to be done by hand, a table, what stood to be done
 * before, notes on unchanged resources, and the fields of each resource, folded.
 */
export function reportMarkdown(report: MarkdownReport): string {
  const { what, document, summary, urgent = [], pending, listed, towards, place } = report;
  const page = new MarkdownPage(place.limit);
  const workspace = markdownCode(document.workspace.slice(0, 100));
  page.add(`### voxform ${what} for ${workspace}\n\n**${markdownText(summary.join(' '))}**`);
  page.addList('', urgent, { share: bounds.urgent, rest: moreItems });
  const { full = false, workspaceFlag = '' } = place;
  const applied = what === 'apply';
  const wording = { full, workspaceFlag };
  const checklist = ({ address, steps = [] }: PlannedResource): string[] =>
    steps.map((step) => `- [ ] ${markdownCode(address)}: ${markdownText(stepText(step, workspaceFlag))}`);
  const isOld = ({ action }: PlannedResource) => action === 'manual';
  page.addList('', remarksOf(document, { ...wording, applied }), { share: bounds.warnings, rest: moreItems });
  const { shared, resources, without } = sharedSteps(pending, wording);
  const formats = { ...FORMATS, ...(applied && { applied: workspaceFlag }) };
  const steps = [
    ...shared.map((each) => `- [ ] ${sharedStepText(each, formats)}`),
    ...resources.filter((each) => !isOld(each)).flatMap(checklist),
  ];
  page.addList('#### Manual steps', steps, { share: bounds.steps, rest: moreSteps });
  for (const { table } of shared) {
    if (table === undefined) continue;
    const { titles, rows } = table;
    page.addList(
      `${tableLine(titles.map(markdownText))}\n${tableLine(titles.map(() => '---'))}`,
      rows.map((cells) => tableLine(cells.map(markdownText))),
      { share: bounds.steps, rest: (count) => `| ${count} more |${' |'.repeat(titles.length - 1)}` },
    );
  }
  const blocks = blocksOf(
    listed.flatMap(({ resource, words }) => {
      const left = without(resource);
      return left === undefined ? [] : [{ resource: left, words }];
    }),
    { towards, ...wording },
  );
  page.addList(
    TABLE_HEADING,
    blocks.filter(({ hasRow }) => hasRow).map(({ resources, words }) => tableRow(resources, words)),
    { share: bounds.table, rest: (count) => `| | ${count} more | | |` },
  );
  page.addList('#### Earlier manual steps', resources.filter(isOld).flatMap(checklist), {
    share: bounds.standing,
    rest: moreSteps,
  });
  const lists = applied ? `voxform status${workspaceFlag}` : '--full';
  const notes = groupedRemarks(noopNotes(document), full, { ...FORMATS, lists }).map((text) => `- ${text}`);
  page.addList('#### Notes', notes, { share: bounds.notes, rest: moreItems });
  for (const { forms } of blocks) {
    if (page.isFull) page.omit();
    else page.add(...forms());
  }
  return page.text(place.command ?? `voxform ${what}`);
}

interface TableBlock {
  readonly resources: readonly PlannedResource[];
  readonly words: RowWords;
  /** A remark on several is no row of a table of changes. */
  readonly hasRow: boolean;
  /** The details, each form shorter than the one before. */
  forms(): readonly string[];
}

/** So many that are adopted as they are need no details of their own. */
const FEWEST_ADOPTED = 12;

/** What is said of resources that the same becomes of, once where several share it. */
function blocksOf(
  listed: readonly ListedResource[],
  { towards, full, workspaceFlag }: Pick<MarkdownReport, 'towards'> & Wording,
): TableBlock[] {
  const views = { secrets: createSecretNumbers(), verbose: false, towards, workspaceFlag };
  const groups = Map.groupBy(listed, ({ words }) => JSON.stringify(words));
  return [...groups.values()].flatMap((group): TableBlock[] => {
    const [{ words } = { words: { symbol: '', action: '' } }] = group;
    const said = compacted(
      group.map(({ resource }) => resource),
      { views, full },
    );
    const adopted = said.filter(isPlainAdoption).flatMap(({ resources }) => resources);
    const isList = !full && adopted.length >= FEWEST_ADOPTED;
    const list = { resources: adopted, words, hasRow: true, forms: () => adoptionList(adopted, words) };
    const others = said.filter((each) => !(isList && isPlainAdoption(each)));
    return [...(isList ? [list] : []), ...others.map((each) => blockOf(each, words))];
  });
}

function blockOf(said: Statement, words: RowWords): TableBlock {
  const { resources, fields, steps, released } = said;
  const hasRow = resources.length === 1 || fields.length + steps.length + released.length > 0;
  return { resources, words, hasRow, forms: () => details(said, words) };
}

function isPlainAdoption({ resources, fields, notices, released }: Statement): boolean {
  const isAdoption = resources.every(
    ({ action, previous_address: was }) => action === 'adopt' && was === undefined,
  );
  return isAdoption && fields.length + notices.length + released.length === 0;
}

interface Wording {
  readonly full: boolean;
  readonly workspaceFlag: WorkspaceFlag;
}

function remarksOf(
  { guards, warnings }: PlanDocument,
  { full, workspaceFlag, applied }: Wording & { readonly applied: boolean },
): string[] {
  const said = wordedWarnings(warnings, workspaceFlag, full || applied);
  return [
    ...guards.map(
      ({ guard, message }) =>
        `- **Apply refuses this plan:** ${markdownText(message)} (override: ${markdownCode(guardFlags[guard])})`,
    ),
    ...groupedRemarks(said, full, { ...FORMATS, ...(applied && { lists: '' }) }).map(
      (text) => `- **Warning:** ${text}`,
    ),
  ];
}

function moreItems(count: number): string {
  return `- ${count} more`;
}

function moreSteps(count: number): string {
  return `- [ ] ${count} more`;
}

function tableLine(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}
