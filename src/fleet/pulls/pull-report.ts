import { planDocument } from '../../engine/plan/plan-schema.ts';
import { commentText } from '../../hosting/comment-text.ts';
import { type HostName, hostKinds } from '../../hosting/index.ts';
import type { CommitStatus } from '../../hosting/pull-requests.ts';
import { severalMarkdown } from '../../output/formats/markdown-format.ts';
import { planReport } from '../../output/report.ts';
import type { PullPlan, PullResult, PullRow } from '../rows/pull-rows.ts';

/** Results with which a request must not be merged as it is. */
const FAILURES: readonly PullResult[] = ['denied', 'invalid', 'failed'];

const WORDS: Readonly<Partial<Record<PullResult, string>>> = {
  new: 'New',
  removed: 'Removed: its records stay, but the fleet no longer manages them',
  validated: 'Validated, not planned',
};

/** The hidden line by which the comment of a source is found again. */
export function markerOf(source: string): string {
  return `<!-- voxform fleet ${encodeURIComponent(source)} -->`;
}

interface Reporting {
  readonly pull: Pick<PullRow, 'source' | 'number' | 'head'>;
  readonly plans: readonly PullPlan[];
  /** Public address of the page. */
  readonly address: string | undefined;
}

/** `2 changes, 1 denied`: the number of workspaces by result; empty for none. */
export function pullCounts(workspaces: readonly Pick<PullPlan, 'result'>[]): string {
  const counts = Map.groupBy(workspaces, ({ result }) => result);
  return [...counts].map(([result, { length }]) => `${length} ${result}`).join(', ');
}

/** The address of a request on the page. */
function pageOf({ pull: { source, number }, address }: Reporting): string | undefined {
  return address === undefined ? undefined : `${address}/pulls/${encodeURIComponent(source)}/${number}`;
}

export function commentOf(reporting: Reporting, host: HostName): string {
  const { pull, plans } = reporting;
  const text = plans.length === 0 ? '## voxform plan\n\nNo workspace is affected.\n' : plansMarkdown(plans);
  const page = pageOf(reporting);
  const link = page === undefined ? '' : ` [Details](<${page}>)`;
  return commentText({
    marker: markerOf(pull.source),
    text: hostKinds[host].commentSafe(text),
    footer: `<sub>Plan of commit ${pull.head.slice(0, 10)}.${link}</sub>`,
    limit: hostKinds[host].longestComment,
  });
}

function plansMarkdown(plans: readonly PullPlan[]): string {
  const reports = plans.flatMap(({ address, plan, notes }) => {
    if (plan === undefined) return [];
    const document = planDocument.parse(plan);
    const warnings = notes.map((message) => ({ address: null, message }));
    const named = { ...document, workspace: address, warnings: [...warnings, ...document.warnings] };
    return [planReport(named)];
  });
  const failures = plans.flatMap(({ address, problem }) => {
    if (problem === undefined) return [];
    const { message, hint, places } = problem;
    const text = [message, ...places].join('\n');
    return [{ workspace: address, message: text, ...(hint !== undefined && { hint }) }];
  });
  const results = new Map(plans.map(({ address, result }) => [address, result]));
  const remarks = plans.flatMap(({ address, result, notes }) => {
    const words = WORDS[result];
    return words === undefined ? [] : [{ workspace: address, text: [`${words}.`, ...notes].join(' ') }];
  });
  return severalMarkdown(
    { what: 'plan', reports, failures, remarks },
    {
      folds: true,
      wordOf: ({ workspace }) => results.get(workspace) ?? 'failed',
      selectionOf: ({ document }) => ({ member: document.workspace }),
    },
  );
}

export function statusOf(reporting: Reporting): CommitStatus {
  const { plans } = reporting;
  const isBad = ({ result }: PullPlan) => FAILURES.includes(result);
  const sorted = plans.toSorted((a, b) => Number(isBad(b)) - Number(isBad(a)));
  const url = pageOf(reporting);
  if (plans.length === 0) return { state: 'success', description: 'No workspace is affected', url };
  return { state: plans.some(isBad) ? 'failure' : 'success', description: pullCounts(sorted), url };
}

/** For a commit that cannot be compared with its base. */
export function failedStatus(reporting: Omit<Reporting, 'plans'>): CommitStatus {
  return { state: 'failure', description: 'The plan of this commit failed', url: pageOf({ ...reporting, plans: [] }) };
}

export function pendingStatus(reporting: Omit<Reporting, 'plans'>): CommitStatus {
  return { state: 'pending', description: 'Planning', url: pageOf({ ...reporting, plans: [] }) };
}
