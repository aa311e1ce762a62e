import type { DiffDocument } from '../runs/diff/document.ts';
import { diffFieldViews, diffGroups, diffSummary, UNKNOWN_EXPLANATION, unknownFields } from './diff-words.ts';
import { MarkdownPage } from './markdown-page.ts';
import { fenced, markdownCode, markdownText } from './markdown-text.ts';
import { diffLines } from './resource-markdown.ts';

/** How full of rows the page may be at most. */
const TABLE_SHARE = 0.6;

/** What is between two workspaces as a comment of at most 65,536 characters. */
export function diffMarkdown(diff: DiffDocument): string {
  const { first, second } = diff;
  const page = new MarkdownPage();
  const [from, to] = [first, second].map(({ name }) => markdownCode(name.slice(0, 100)));
  page.add(`### voxform diff from ${from} to ${to}\n\n**${markdownText(diffSummary(diff).join(' '))}**`);
  const listed = diffGroups(diff).flatMap(({ heading, symbol, resources }) =>
    resources.map((resource) => ({ heading, symbol, resource })),
  );
  const rows = listed.map(({ heading, symbol, resource: { address, source } }) => {
    const place = markdownCode(`${source.file}:${source.line}`);
    return `| ${markdownCode(symbol)} | ${markdownCode(address)} | ${markdownText(heading.toLowerCase())} | ${place} |`;
  });
  page.addList('| | Resource | Difference | Source |\n| --- | --- | --- | --- |', rows, {
    share: TABLE_SHARE,
    rest: (count) => `| | ${count} more | | |`,
  });
  const names = [first.name, second.name] as const;
  for (const { heading, resource } of listed) {
    const lines = diffFieldViews(resource, { names, verbose: false }).flatMap(diffLines);
    const content = [
      ...(resource.reason === undefined ? [] : [markdownText(resource.reason)]),
      ...(lines.length === 0 ? [] : [fenced('diff', lines)]),
    ].join('\n\n');
    const summary = `${markdownCode(resource.address)}: ${markdownText(heading.toLowerCase())}`;
    const block = (text: string) => `<details>\n<summary>${summary}</summary>\n\n${text}\n\n</details>`;
    if (page.isFull) page.omit();
    else page.add(block(content), block('_Too long to be shown here._'));
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
