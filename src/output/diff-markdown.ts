import type { DiffDocument } from '../runs/diff/document.ts';
import { type CompactOptions, compacted } from './compact.ts';
import {
  diffGroups,
  diffSummary,
  type LinkTable,
  linkTables,
  plannedLike,
  UNKNOWN_EXPLANATION,
  unknownFields,
} from './diff-words.ts';
import { MarkdownPage, markdownCode, markdownText } from './markdown.ts';
import { details, tableRow } from './resource-markdown.ts';

/** The part of the page that rows may fill. */
const TABLE_SHARE = 0.6;

/** The differences of two workspaces as a comment of at most 65,536 characters. */
export function diffMarkdown(diff: DiffDocument, { full }: Pick<CompactOptions, 'full'> = {}): string {
  const { first, second } = diff;
  const page = new MarkdownPage();
  const [from, to] = [first, second].map(({ name }) => markdownCode(name.slice(0, 100)));
  page.add(`### voxform diff from ${from} to ${to}\n\n**${markdownText(diffSummary(diff).join(' '))}**`);
  const names = [first.name, second.name] as const;
  const links: LinkTable[] = [];
  const blocks = diffGroups(diff).flatMap((group) => {
    const like = plannedLike(group, { names, verbose: false });
    const tables = full ? [] : linkTables(like);
    links.push(...tables);
    const inTables = new Set(tables.flatMap((table) => table.resources));
    const resources = like.resources.filter((resource) => !inTables.has(resource));
    const { views } = like;
    const words = { symbol: group.symbol, action: markdownText(group.heading.toLowerCase()) };
    return compacted(resources, { views, full }).map((said) => ({ said, words }));
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
    if (page.isFull) page.omit();
    else page.add(...details(said, words));
  }
  const unknown = unknownFields(diff).map(
    ({ address, paths }) => `- ${markdownCode(address)}: ${paths.map(markdownCode).join(', ')}`,
  );
  page.addList(`#### Unknown\n\n${markdownText(UNKNOWN_EXPLANATION)}`, unknown, {
    share: 1,
    rest: (count) => `- ${count} more`,
  });
  return page.text(`voxform diff ${first.name} ${second.name}`);
}
