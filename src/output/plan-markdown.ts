import type { PlanDocument, PlannedResource } from '../engine/plan-document.ts';
import { actionWords, byAction, planSummary, plural, shownActions } from './action-words.ts';
import { createSecretNumbers, type FieldView, fieldViews, type SecretNumbers } from './field-view.ts';
import { fenced, markdownCode, markdownText } from './markdown-text.ts';

/** GitHub's limit on a comment, in characters. */
export const MARKDOWN_LIMIT = 65_536;

/** Characters kept free for saying what was left out. */
const reserve = 400;
/** The share of the room that warnings, table and steps may fill together, each up to its own bound. */
const bounds = { warnings: 0.15, steps: 0.45, table: 0.6 };

/** A plan as a comment on a pull request: counts, warnings, what is to be done by hand, a table, and the fields of each resource, folded. */
export function planMarkdown(plan: PlanDocument): string {
  const of = byAction(plan.resources);
  const shown = shownActions.flatMap(of);
  const page = new Page();
  page.add(
    `### voxform plan for ${markdownCode(plan.workspace.slice(0, 100))}\n\n**${markdownText(planSummary(plan).join(' '))}**`,
  );
  page.addList('', remarksOf(plan), bounds.warnings);
  const pending = shown.filter(({ steps = [] }) => steps.length > 0);
  page.addList('#### By hand', pending.flatMap(checklist), bounds.steps);
  page.addList('| | Resource | Action | Source |\n| --- | --- | --- | --- |', shown.map(row), bounds.table);
  const secrets = createSecretNumbers();
  for (const resource of shown) page.add(details(resource, secrets), briefDetails(resource));
  return page.text();
}

/** Blocks of Markdown up to the limit. A block is there whole, in its shorter form, or not at all: then it is counted. */
class Page {
  readonly #blocks: string[] = [];
  #length = 0;
  #omitted = 0;

  add(block: string, shorter?: string): void {
    const fitting = [block, shorter].find((text) => text !== undefined && this.#fits(text, MARKDOWN_LIMIT));
    if (fitting === undefined) this.#omitted++;
    else if (fitting !== '') this.#push(fitting);
  }

  /** As many of the lines as fit into that share of the page, under the heading. */
  addList(heading: string, lines: readonly string[], share: number): void {
    if (lines.length === 0) return;
    let block = heading;
    let listed = 0;
    for (const line of lines) {
      const separator = block === '' || block.startsWith('|') ? '\n' : listed === 0 ? '\n\n' : '\n';
      if (!this.#fits(block + separator + line, MARKDOWN_LIMIT * share)) break;
      block += separator + line;
      listed++;
    }
    this.#omitted += lines.length - listed;
    if (listed > 0) this.#push(block.trimStart());
  }

  text(): string {
    const note =
      this.#omitted === 0
        ? []
        : [
            `_${plural(this.#omitted, 'part')} of this plan left out: a comment holds at most ${MARKDOWN_LIMIT.toLocaleString('en')} characters. Run ${markdownCode('voxform plan')} for all of it._`,
          ];
    return `${[...this.#blocks, ...note].join('\n\n')}\n`;
  }

  #fits(block: string, limit: number): boolean {
    return this.#length + block.length + 2 <= limit - reserve;
  }

  #push(block: string): void {
    this.#blocks.push(block);
    this.#length += block.length + 2;
  }
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

function row({ action, address, source, adopted, previous_address: previous }: PlannedResource): string {
  const { symbol, heading } = actionWords[action];
  const marks = [
    adopted && action !== 'adopt' ? ', adopted' : '',
    previous === undefined ? '' : `, was ${markdownCode(previous)}`,
  ].join('');
  const place = source === null ? '' : markdownCode(`${source.file}:${source.line}`);
  return `| ${markdownCode(symbol)} | ${markdownCode(address)} | ${heading.toLowerCase()}${marks} | ${place} |`;
}

function details(resource: PlannedResource, secrets: SecretNumbers): string {
  const lines = fieldViews(resource, { secrets, verbose: false }).flatMap(diffOf);
  const { reason, id, notices = [], released = [] } = resource;
  const said = [
    [reason, ...(id === null ? [] : [`id ${id}`])]
      .filter((text) => text !== '')
      .map(markdownText)
      .join('; '),
    ...notices.map((notice) => `Note: ${markdownText(notice)}`),
    ...(released.length === 0 ? [] : [`No longer managed: ${released.map(markdownCode).join(', ')}`]),
    ...(lines.length === 0 ? [] : [fenced('diff', lines)]),
  ].filter((text) => text !== '');
  return folded(resource, said.join('\n\n'));
}

function briefDetails(resource: PlannedResource): string {
  return folded(resource, '_Too long to be shown here._');
}

/** The blank lines make GitHub read the content as Markdown again. */
function folded({ action, address, changes }: PlannedResource, content: string): string {
  const fields = changes.length === 0 ? '' : `, ${plural(changes.length, 'field')}`;
  const summary = `${markdownCode(address)}: ${actionWords[action].heading.toLowerCase()}${fields}`;
  return `<details>\n<summary>${summary}</summary>\n\n${content}\n\n</details>`;
}

/** A field as lines of a diff. */
function diffOf({ path, body, notes }: FieldView): string[] {
  const said = notes.map((note) => `# ${note}`);
  switch (body.form) {
    case 'value':
      return [`+ ${path}: ${body.after}`, ...said];
    case 'change':
      return [`- ${path}: ${body.before}`, `+ ${path}: ${body.after}`, ...said];
    case 'text':
      return [
        ...(body.before === undefined ? [] : [`- ${path}: ${body.before}`]),
        `+ ${path}:`,
        ...body.lines.map((line) => `+   ${line}`),
        ...(body.more === 0 ? [] : [`# … (${body.more} more lines)`]),
        ...said,
      ];
    case 'diff':
      return [
        `@@ ${path} @@`,
        ...body.lines.map(({ sign, text }) =>
          sign === '@' ? `@@ ${path}, ${text} @@` : `${sign} ${text}`.trimEnd(),
        ),
        ...said,
      ].filter((_, index, lines) => !(index === 0 && lines[1]?.startsWith('@@ ')));
    default:
      return body satisfies never;
  }
}
