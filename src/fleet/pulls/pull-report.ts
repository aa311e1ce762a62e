import { planDocument } from '../../engine/plan/plan-schema.ts';
import { commentText } from '../../hosting/comment-text.ts';
import { type HostName, hostKinds } from '../../hosting/index.ts';
import type { CommitStatus } from '../../hosting/pull-requests.ts';
import { reportSetMarkdown } from '../../output/formats/markdown-format.ts';
import { planReport } from '../../output/report.ts';
import type { PullPlan, PullResult, PullRow } from '../rows/pull-rows.ts';

/** The results for which the commit status is a failure. */
const FAILURES: readonly PullResult[] = ['denied', 'invalid', 'failed'];

/** Remarks for workspaces without a plan. */
const REMARKS: Readonly<Partial<Record<PullResult, string>>> = {
  new: 'New',
  removed: 'Removed: the records remain, but the fleet no longer manages them',
  validated: 'Validated, not planned',
};

/** Returns the hidden line that identifies the comment of a source. */
export function markerOf(source: string): string {
  return `<!-- voxform fleet ${encodeURIComponent(source)} -->`;
}

interface PullReport {
  readonly pull: Pick<PullRow, 'source' | 'number' | 'head'>;
  readonly plans: readonly PullPlan[];
  /** The public address of the page. */
  readonly address: string | undefined;
}

/** Returns the number of workspaces by result, such as `2 changes, 1 denied`; empty without workspaces. */
export function pullCounts(workspaces: readonly Pick<PullPlan, 'result'>[]): string {
  const counts = Map.groupBy(workspaces, ({ result }) => result);
  return [...counts].map(([result, { length }]) => `${length} ${result}`).join(', ');
}

/** Returns the address of a pull request on the page. */
function pageOf({ pull: { source, number }, address }: PullReport): string | undefined {
  return address === undefined ? undefined : `${address}/pulls/${encodeURIComponent(source)}/${number}`;
}

/** Returns the text of the comment on a pull request. */
export function commentOf(report: PullReport, host: HostName): string {
  const { pull, plans } = report;
  const text = plans.length === 0 ? '## voxform plan\n\nNo workspace is affected.\n' : plansMarkdown(plans);
  const page = pageOf(report);
  const link = page === undefined ? '' : ` [Details](<${page}>)`;
  return commentText({
    marker: markerOf(pull.source),
    text: hostKinds[host].commentSafe(text),
    footer: `<sub>Plan of commit ${pull.head.slice(0, 10)}.${link}</sub>`,
    limit: hostKinds[host].maxCommentLength,
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
    const remark = REMARKS[result];
    return remark === undefined ? [] : [{ workspace: address, text: [`${remark}.`, ...notes].join(' ') }];
  });
  return reportSetMarkdown(
    { type: 'plan', reports, failures, remarks },
    {
      folds: true,
      wordOf: ({ workspace }) => results.get(workspace) ?? 'failed',
      selectionOf: ({ document }) => ({ member: document.workspace }),
    },
  );
}

/** Returns the status of a commit whose workspaces were planned. */
export function statusOf(report: PullReport): CommitStatus {
  const { plans } = report;
  const isFailure = ({ result }: PullPlan) => FAILURES.includes(result);
  const sorted = plans.toSorted((a, b) => Number(isFailure(b)) - Number(isFailure(a)));
  const url = pageOf(report);
  if (plans.length === 0) return { state: 'success', description: 'No workspace is affected', url };
  return { state: plans.some(isFailure) ? 'failure' : 'success', description: pullCounts(sorted), url };
}

/** Returns the status of a commit that cannot be planned. */
export function failedStatus(report: Omit<PullReport, 'plans'>): CommitStatus {
  return { state: 'failure', description: 'The plan of this commit failed', url: pageOf({ ...report, plans: [] }) };
}

export function pendingStatus(report: Omit<PullReport, 'plans'>): CommitStatus {
  return { state: 'pending', description: 'Planning', url: pageOf({ ...report, plans: [] }) };
}
