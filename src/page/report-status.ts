import type { PlanDocument, PlannedResource } from '../engine/plan/plan-document.ts';
import { invalidLines, messageOf } from '../operator/messages.ts';
import { isForPerson, planAfter } from '../operator/plan-after.ts';
import type { RunReport } from '../operator/run-report.ts';
import { appliedActions, counts, pendingActions } from '../output/action-words.ts';
import type { Reach } from '../problems/workspace-command.ts';
import { statusOf } from '../runs/resource-status.ts';
import type { Fact, ResourceRow, ShownProblem } from './page-data.ts';

/** A clause about what needs attention. */
export function summaryOf(report: RunReport | undefined): string {
  if (report === undefined) return '';
  const { error, invalid, missing, drift, result, hold, reach } = report;
  if (error !== undefined) return messageOf(error, reach);
  if (invalid !== undefined) return invalidLines(invalid)[0] ?? 'the manifests are invalid';
  const after = planAfter(report);
  if (after === undefined) return '';
  const left = new Set(leftIn(after).map(({ address }) => address));
  const drifted = drift.filter(({ address }) => report.request !== undefined || left.has(address)).length;
  const person = after.resources.filter(isForPerson).length;
  return [
    ...(result === 'refused' ? [`refused by a ${hold?.why === 'policy' ? 'policy' : 'guard'}`] : []),
    ...(drifted === 0 ? [] : [`${drifted} drifted`]),
    ...(missing.length === 0 ? [] : [`${missing.length} missing`]),
    ...(left.size === 0 ? [] : [counts(after.summary, [...appliedActions, ...pendingActions])]),
    ...(person === 0 ? [] : [`${person} for a person`]),
  ].join(', ');
}

export function leftIn(plan: PlanDocument | undefined): readonly PlannedResource[] {
  return plan?.resources.filter(({ action }) => action !== 'noop') ?? [];
}

/** The resources after the run, those that need attention first. */
export function resourcesOf(report: RunReport | undefined): readonly ResourceRow[] {
  const results = new Map(report?.applied.map(({ address, result }) => [address, result]));
  const after = report && planAfter(report);
  const rows = statusOf(after?.resources ?? []).map(({ address, id, status, detail }): ResourceRow => {
    const result = results.get(address);
    switch (result?.status) {
      case 'failed':
        return { address, id, status: 'failed', detail: result.error };
      case 'skipped':
        return { address, id, status: 'skipped', detail: result.because };
      default:
        return { address, id, status, detail };
    }
  });
  const isFine = ({ status }: ResourceRow) => Number(status === 'in sync');
  return rows.sort((a, b) => isFine(a) - isFine(b));
}

/** @param checkedAt undefined if no manifests were ever in force. */
export function invalidHeading(checkedAt: Date | string | undefined): string {
  return `The newest manifests are invalid${checkedAt === undefined ? '' : '; the last valid ones stay in force'}`;
}

export const NO_REQUEST_SHOWN = 'There is no pull request for the drift';

interface RequestShown {
  readonly status: string | null;
  readonly url: string | null;
  readonly message: string | null;
}

/** The drift request, or why there is none. */
export function requestFacts(request: RequestShown | undefined): Fact[] {
  if (request === undefined || request.status === 'none' || request.status === null) return [];
  const { url, status, message } = request;
  const isLink = url !== null && (status === 'open' || status === 'closed');
  return [
    [
      status === 'closed' ? 'Closed pull request' : 'Pull request',
      isLink ? new URL(url) : (message ?? status),
    ],
  ];
}

export function problemsOf(
  report: RunReport | undefined,
  reach: Reach,
  { redact, checkedAt }: { redact(text: string): string; readonly checkedAt: Date | undefined },
): ShownProblem[] {
  if (report === undefined) return [];
  const { error, fetchProblem, invalid, busy, request } = report;
  const told = (heading: string, lines: readonly string[]): ShownProblem => ({
    heading,
    lines: lines.map((line) => redact(line)),
  });
  return [
    ...(error === undefined
      ? []
      : [
          told(busy === undefined ? 'The last run failed' : 'Another run holds the lock', [
            messageOf(error, reach),
          ]),
        ]),
    ...(fetchProblem === undefined
      ? []
      : [told('The manifests cannot be fetched', [messageOf(fetchProblem, reach)])]),
    ...(invalid === undefined ? [] : [told(invalidHeading(checkedAt), invalidLines(invalid))]),
    ...(request?.problem === undefined ? [] : [told(NO_REQUEST_SHOWN, [request.problem])]),
  ];
}
