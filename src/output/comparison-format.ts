import { compacted } from './compact.ts';
import type { Comparison, FieldList, LinkTable } from './comparison.ts';
import { MarkdownPage, markdownCode, markdownText } from './markdown.ts';
import { details, tableRow } from './resource-markdown.ts';
import { renderGroup } from './resource-text.ts';
import { paragraphs, type Style, section, sentences } from './style.ts';
import { renderIndented } from './table.ts';
import { displayWidth, pad } from './text-width.ts';

interface ComparisonOptions {
  readonly verbose?: boolean;
  /** Show common statements for each resource. */
  readonly full?: boolean | undefined;
}

/** Each field from the first side to the second. */
export function comparisonText(
  { sides, groups, unknown, unverified, summary, isClean }: Comparison,
  style: Style,
  { verbose = false, full = verbose }: ComparisonOptions = {},
): string {
  const width = Math.max(...sides.map(({ name }) => displayWidth(name)));
  const lines = sides.map(({ sign, name, about }) => {
    const lead = `${sign === '-' ? style.removed(sign) : style.added(sign)} ${pad(name, width)} `;
    return style.prose(about, { lead, format: style.dim });
  });
  return paragraphs([
    lines.join('\n'),
    ...groups.map(({ tables, ...group }) => {
      const shown = full ? [] : tables.map((table) => linksText(table, style));
      return renderGroup(group, { style, views: group.views, full, tables: shown });
    }),
    fieldsText(unknown, style),
    verbose ? fieldsText(unverified, style) : '',
    sentences(summary, style, { format: isClean ? style.good : style.bold }),
  ]);
}

function linksText({ heading, titles, rows, resources }: LinkTable, style: Style) {
  const columns = titles.map((title, index) => ({
    title: index === 0 ? title.toUpperCase() : title,
    whole: index === 0,
  }));
  return { resources, text: `  ${heading}:\n${renderIndented(columns, rows, { style, indent: 4 })}` };
}

function fieldsText({ title, explanation, fields }: FieldList, style: Style): string {
  const lines = fields.map(({ address, paths }) => style.prose(`${address}: ${paths.join(', ')}`, { indent: 4 }));
  return section(style.prose(explanation, { lead: `${style.bold(title)}: `, format: style.dim }), lines);
}

/** The part of the page that rows may fill. */
const TABLE_SHARE = 0.6;

/** The same as a comment of at most 65,536 characters. */
export function comparisonMarkdown(
  { title, command, sides, groups, unknown, summary }: Comparison,
  { full }: ComparisonOptions = {},
): string {
  const page = new MarkdownPage();
  page.add(`### voxform ${markdownText(title)}\n\n**${markdownText(summary.join(' '))}**`);
  page.add(
    sides
      .map(({ sign, ...side }) => `- ${markdownCode(sign)} ${markdownText(`${side.name}, ${side.about}`)}`)
      .join('\n'),
  );
  const links = full ? [] : groups.flatMap(({ tables }) => tables);
  const inTables = new Set(links.flatMap(({ resources }) => resources));
  const blocks = groups.flatMap(({ heading, symbol, resources, views }) => {
    const words = { symbol, action: markdownText(heading.toLowerCase()) };
    const left = resources.filter((resource) => !inTables.has(resource));
    return compacted(left, { views, full }).map((said) => ({ said, words }));
  });
  const rows = blocks.map(({ said, words }) => tableRow(said.resources, words));
  page.addList('| | Resource | Difference | Source |\n| --- | --- | --- | --- |', rows, {
    share: TABLE_SHARE,
    rest: (count) => `| | ${count} more | | |`,
  });
  for (const { heading, titles, rows } of links) {
    const cells = rows.map((row) => row.map(markdownText));
    page.addTable(`#### ${heading}`, { titles, rows: cells, share: TABLE_SHARE });
  }
  for (const { said, words } of blocks) {
    const forms = () => details(said, words);
    if (page.isFull) page.omit();
    // A single resource needs no overview.
    else page.add(...forms().map((form) => (blocks.length > 1 ? form : form.replace('<details>', '<details open>'))));
  }
  const fields = unknown.fields.map(
    ({ address, paths }) => `- ${markdownCode(address)}: ${paths.map(markdownCode).join(', ')}`,
  );
  page.addList(`#### ${unknown.title}\n\n${markdownText(unknown.explanation)}`, fields, {
    share: 1,
    rest: (count) => `- ${count} more`,
  });
  return page.text(command);
}
