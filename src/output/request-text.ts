import { commandFor } from '../problems/workspace-command.ts';
import type { RequestSubject, RequestWriter } from '../runs/drift-request/propose-drift.ts';
import type { RequestResult } from '../runs/drift-request/reconcile-request.ts';
import type { JsonObject } from '../values/json.ts';
import { escapeControls } from './escape-controls.ts';
import { reportMarkdown } from './formats/markdown-format.ts';
import { MAX_COMMENT_LENGTH, MarkdownPage, markdownCode, markdownText } from './markdown.ts';
import { driftReport } from './report.ts';

/** The number of characters reserved for text that people add. */
const MARGIN = 4096;
/** The maximum share of the text for skipped changes. */
const SHARE = 0.3;

/** Writes the description of a drift request as Markdown that works on every host. */
export const requestWriter: RequestWriter = { text, ended };

function text(subject: RequestSubject): string {
  const { drift, selection } = subject;
  const page = new MarkdownPage(MAX_COMMENT_LENGTH - MARGIN);
  const workspace = markdownCode(drift.workspace);
  const restore = markdownCode(commandFor('voxform apply', selection));
  page.add(
    `${workspace} was changed on the platform. Merge this request to write these values to the manifests. To restore the values of the manifests instead, close it and run ${restore}.`,
  );
  addSkipped(page, subject);
  const command = commandFor('voxform drift', selection);
  const head = page.text(command);
  const limit = MAX_COMMENT_LENGTH - MARGIN - Buffer.byteLength(head);
  const report = reportMarkdown(driftReport(drift), { limit, command, selection });
  return withoutCommands(`${head}\n${report}`);
}

function ended(subject: RequestSubject): string {
  const page = new MarkdownPage(MAX_COMMENT_LENGTH - MARGIN);
  const workspace = markdownCode(subject.drift.workspace);
  page.add(
    subject.refused.length === 0
      ? `The drift of ${workspace} has ended.`
      : `Only skipped changes of ${workspace} remain.`,
  );
  addSkipped(page, subject);
  return withoutCommands(page.text(commandFor('voxform drift', subject.selection)));
}

function addSkipped(page: MarkdownPage, { refused }: RequestSubject): void {
  const lines = refused.map(({ address, path, why }) => {
    const which = path === null ? address : `${address} ${path}`;
    return `- ${markdownCode(which)}: ${markdownText(why)}`;
  });
  page.addList('#### Skipped changes', lines, { share: SHARE, rest: (count) => `- ${count} more` });
}

/** Escapes a slash at the start of a line, which GitLab may run as a command such as /merge. */
function withoutCommands(markdown: string): string {
  return markdown.replace(/^(\s*)\//gm, '$1&#47;');
}

/** Returns the status of a drift request as a clause, or undefined if there is no request. */
export function requestWords(kept: RequestResult): string | undefined {
  const clause = words(kept);
  return clause && escapeControls(clause);
}

function words(kept: RequestResult): string | undefined {
  switch (kept.is) {
    case 'none':
      return undefined;
    case 'open':
      return `pull request ${kept.did === 'nothing' ? 'open' : kept.did}: ${kept.url}`;
    case 'closed':
      return `pull request closed, because ${kept.hasRest ? 'only skipped changes remain' : 'the drift has ended'}: ${kept.url}`;
    case 'rejected':
      return `somebody closed the pull request for this drift, so it stays closed: ${kept.url}`;
    case 'foreign': {
      const where = kept.url === undefined ? '' : `: ${kept.url}`;
      return `the branch ${kept.branch} has commits of other people, so voxform does not change it${where}`;
    }
    case 'behind':
      return `no pull request: these files differ between the branch ${kept.base} and the checkout: ${kept.files.join(', ')}`;
    default:
      return kept satisfies never;
  }
}

/** The status of a drift request as JSON. `change` is the action of this run. */
interface RequestJson extends JsonObject {
  readonly status: RequestResult['is'];
  readonly change: 'opened' | 'updated' | 'closed' | null;
  readonly url: string | null;
  readonly message: string | null;
}

export function requestJson(kept: RequestResult): RequestJson {
  const done = kept.is === 'open' ? kept.did : kept.is;
  return {
    status: kept.is,
    change: done === 'opened' || done === 'updated' || done === 'closed' ? done : null,
    url: 'url' in kept ? (kept.url ?? null) : null,
    message: requestWords(kept) ?? null,
  };
}

/** True if the drift needs attention that the request cannot resolve. */
export function needsPerson({ is }: RequestResult): boolean {
  return is === 'rejected' || is === 'foreign' || is === 'behind';
}
