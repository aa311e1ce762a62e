import { commandFor } from '../problems/workspace-command.ts';
import type { RequestSubject, RequestWriter } from '../runs/drift-request/propose-drift.ts';
import { reportMarkdown } from './formats/markdown-format.ts';
import { MARKDOWN_LIMIT, MarkdownPage } from './markdown-page.ts';
import { markdownCode, markdownText } from './markdown-text.ts';
import { driftReport } from './report.ts';

/** Characters left for what people write around our text. */
const MARGIN = 4096;
/** How full of what is not in the request the text may be at most. */
const SHARE = 0.3;

/** The text of a request that accepts drift, as Markdown that fits a request of every host. */
export const requestWriter: RequestWriter = { text, ended };

function text(subject: RequestSubject): string {
  const { drift, reach } = subject;
  const page = new MarkdownPage(MARKDOWN_LIMIT - MARGIN);
  const workspace = markdownCode(drift.workspace);
  const restore = markdownCode(commandFor('voxform apply', reach));
  page.add(
    `${workspace} was changed on the platform. Merge this request to write these values to the manifests. To restore the values of the manifests instead, close it and run ${restore}.`,
  );
  page.addList('#### Skipped changes', refusedLines(subject), {
    share: SHARE,
    rest: (count) => `- ${count} more`,
  });
  const command = commandFor('voxform drift', reach);
  const head = page.text(command);
  const limit = MARKDOWN_LIMIT - MARGIN - Buffer.byteLength(head);
  const report = reportMarkdown(driftReport(drift), { limit, command, reach });
  return withoutCommands(`${head}\n${report}`);
}

function ended(subject: RequestSubject): string {
  const page = new MarkdownPage(MARKDOWN_LIMIT - MARGIN);
  const workspace = markdownCode(subject.drift.workspace);
  page.add(
    subject.refused.length === 0
      ? `The drift of ${workspace} has ended.`
      : `Only skipped changes of ${workspace} remain.`,
  );
  page.addList('#### Skipped changes', refusedLines(subject), {
    share: SHARE,
    rest: (count) => `- ${count} more`,
  });
  return withoutCommands(page.text(commandFor('voxform drift', subject.reach)));
}

function refusedLines({ refused }: RequestSubject): string[] {
  return refused.map(({ address, path, why }) => {
    const which = path === null ? address : `${address} ${path}`;
    return `- ${markdownCode(which)}: ${markdownText(why)}`;
  });
}

/** No line may begin like a command to GitLab, such as /merge. */
function withoutCommands(markdown: string): string {
  return markdown.replace(/^(\s*)\//gm, '$1&#47;');
}
