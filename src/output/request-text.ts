import { commandFor } from '../problems/workspace-command.ts';
import type { RequestSubject, RequestWriter } from '../runs/drift-request/propose-drift.ts';
import type { RequestResult } from '../runs/drift-request/reconcile-request.ts';
import type { JsonObject } from '../values/json.ts';
import { escapeControls } from './escape-controls.ts';
import { reportMarkdown } from './formats/markdown-format.ts';
import { MAX_COMMENT_LENGTH, MarkdownPage, markdownCode, markdownText } from './markdown.ts';
import { driftReport } from './report.ts';

/** The size in bytes that is reserved for text that people add. */
const RESERVED_BYTES = 4096;
/** The maximum share of the text for skipped changes. */
const SKIPPED_SHARE = 0.3;

/** Writes the description of a drift request as Markdown that works on every host. */
export const requestWriter: RequestWriter = { text, ended };

function text(subject: RequestSubject): string {
  const { drift, selection } = subject;
  const page = new MarkdownPage(MAX_COMMENT_LENGTH - RESERVED_BYTES);
  const workspace = markdownCode(drift.workspace);
  const restore = markdownCode(commandFor('voxform apply', selection));
  page.add(
    `${workspace} was changed on the platform. Merge this request to write these values to the manifests. To restore the values of the manifests instead, close it and run ${restore}.`,
  );
  addSkipped(page, subject);
  const command = commandFor('voxform drift', selection);
  const head = page.text(command);
  const limit = MAX_COMMENT_LENGTH - RESERVED_BYTES - Buffer.byteLength(head);
  const report = reportMarkdown(driftReport(drift), { limit, command, selection });
  return withoutCommands(`${head}\n${report}`);
}

function ended(subject: RequestSubject): string {
  const page = new MarkdownPage(MAX_COMMENT_LENGTH - RESERVED_BYTES);
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
    const name = path === null ? address : `${address} ${path}`;
    return `- ${markdownCode(name)}: ${markdownText(why)}`;
  });
  page.addList('#### Skipped changes', lines, { share: SKIPPED_SHARE, rest: (count) => `- ${count} more` });
}

/** Escapes a slash at the start of a line, because GitLab may run the line as a command such as /merge. */
function withoutCommands(markdown: string): string {
  return markdown.replace(/^(\s*)\//gm, '$1&#47;');
}

/** Returns the status of a drift request as a clause, or undefined if there is no request. */
export function requestWords(result: RequestResult): string | undefined {
  const clause = clauseOf(result);
  return clause && escapeControls(clause);
}

function clauseOf(result: RequestResult): string | undefined {
  switch (result.is) {
    case 'none':
      return undefined;
    case 'open':
      return `pull request ${result.did === 'nothing' ? 'open' : result.did}: ${result.url}`;
    case 'closed':
      return `pull request closed, because ${result.hasRest ? 'only skipped changes remain' : 'the drift has ended'}: ${result.url}`;
    case 'rejected':
      return `the pull request for this drift was closed manually and stays closed: ${result.url}`;
    case 'foreign': {
      const where = result.url === undefined ? '' : `: ${result.url}`;
      return `the branch ${result.branch} has commits of other people, so voxform does not change it${where}`;
    }
    case 'behind':
      return `no pull request: these files differ between the branch ${result.base} and the checkout: ${result.files.join(', ')}`;
    default:
      return result satisfies never;
  }
}

/** The status of a drift request as JSON. `change` is the action of this run. */
interface RequestJson extends JsonObject {
  readonly status: RequestResult['is'];
  readonly change: 'opened' | 'updated' | 'closed' | null;
  readonly url: string | null;
  readonly message: string | null;
}

export function requestJson(result: RequestResult): RequestJson {
  const done = result.is === 'open' ? result.did : result.is;
  return {
    status: result.is,
    change: done === 'opened' || done === 'updated' || done === 'closed' ? done : null,
    url: 'url' in result ? (result.url ?? null) : null,
    message: requestWords(result) ?? null,
  };
}

/** True if a person must act, because the request cannot resolve the drift. */
export function needsManualAction({ is }: RequestResult): boolean {
  return is === 'rejected' || is === 'foreign' || is === 'behind';
}
