import { writes } from '../engine/plan/plan-actions.ts';
import type { PlanDocument } from '../engine/plan/plan-document.ts';
import { holdMessage, invalidLines, messageOf, planWords } from '../operator/messages.ts';
import { appliedRows } from '../operator/plan-after.ts';
import type { RunReport } from '../operator/run-report.ts';
import { requestSummary } from '../operator/run-summary.ts';
import { appliedActions, counts, countWords, doneWords } from '../output/action-words.ts';
import { changesOf, waiverText } from '../output/history-text.ts';
import type { PastRun } from '../runs/past-runs.ts';
import { nameCounts } from '../values/name-counts.ts';
import type { Fact, RunDetail } from './page-data.ts';
import { leftIn, requestFacts, resourcesOf } from './report-status.ts';

/** The maximum number of resources listed for a run. */
export const MOST_LISTED = 200;

/** A remembered run of this process, without its plan. */
export function detailOfReport(report: RunReport, redact: (text: string) => string): RunDetail {
  const { startedAt, number, result, triggers, seconds, applied, drift, missing, hold, askedBy } = report;
  const { error, invalid, fetchProblem, reach, commit, plan } = report;
  const problems = [
    ...(error === undefined ? [] : [messageOf(error, reach)]),
    ...(fetchProblem === undefined ? [] : [messageOf(fetchProblem, reach)]),
    ...(invalid === undefined ? [] : invalidLines(invalid).slice(0, MOST_LISTED)),
  ].map(redact);
  const planned = new Map(plan?.resources.map((each) => [each.address, each]));
  const told = [
    ...missing.map(({ address, id }) => ({ address, action: 'blocked', result: 'missing', id, detail: '' })),
    ...drift.map(({ address, fields }) => ({
      address,
      action: planned.get(address)?.action ?? '',
      result: 'drifted',
      id: planned.get(address)?.id ?? null,
      detail: fields.join(', '),
    })),
    ...appliedRows(report, redact),
  ];
  const known = new Set(told.map(({ address }) => address));
  const resources = [...told, ...plannedIn(plan).filter(({ address }) => !known.has(address))];
  const done = nameCounts(
    applied.flatMap(({ action, result: its }) => (its.status === 'done' ? action : [])),
  );
  const status = countWords(nameCounts(resourcesOf(report).map(({ status }) => status)));
  return {
    id: `${startedAt.toISOString().replace(/[-:.]/g, '')}-${number}`,
    began: startedAt,
    seconds,
    result: invalid !== undefined && result === 'ok' ? 'invalid' : resultWord(result, hold !== undefined),
    command: 'watch',
    who: undefined,
    askedBy: askedBy.join(', ') || undefined,
    summary:
      problems[0] ??
      (doneWords(done).join(', ') || (plan && counts(plan.summary, appliedActions)) || status.join(', ')),
    facts: [
      ['Triggers', triggers.join(', ')],
      ...(commit === undefined ? [] : [['Commit', commit] as const]),
      ...(plan === undefined
        ? []
        : [['Plan', counts(plan.summary, appliedActions) || 'no changes'] as const]),
      ...(hold === undefined ? [] : [['Held', redact(holdMessage(hold, planWords(report), reach))] as const]),
      ...requestFacts(report.request && requestSummary(report.request)),
    ],
    problems,
    resources: resources.slice(0, MOST_LISTED),
    more: Math.max(0, resources.length - MOST_LISTED),
  };
}

/** The result of a run in the words of a state's history. */
export function resultWord(result: string, isHeld: boolean): string {
  if (result !== 'ok') return result;
  return isHeld ? 'planned' : 'done';
}

/** The actions and manual steps of a plan. */
export function plannedIn(plan: PlanDocument | undefined): RunDetail['resources'] {
  return leftIn(plan).map(({ address, action, id, changes }) => ({
    address,
    action,
    result: writes.has(action) ? 'planned' : action,
    id,
    detail: action === 'update' ? changes.map(({ path }) => path).join(', ') : '',
  }));
}

/** A run from the history of a state. */
export function detailOfPastRun(run: PastRun): RunDetail {
  const { resources = [], more = 0, error, ended, job, plan, lifted = [], waived = [] } = run;
  const known: readonly (readonly [string, string | undefined])[] = [
    ['Last write', run.result === 'died' ? ended : undefined],
    ['Job', job && `${job.name} ${job.url}`],
    ['Commit', run.commit],
    ['voxform', run.voxform_version],
    ['Plan digest', plan?.digest],
    ['Approved by', run.approved_by],
    ['Unlocked by', run.unlocked_by],
    ['Moved from', run.moved_from],
    ['Moved to', run.moved_to],
    ['Guards lifted', lifted.join(', ') || undefined],
    ['Waived', waived.map(waiverText).join('; ') || undefined],
  ];
  return {
    id: run.run,
    began: new Date(run.began),
    seconds:
      ended === undefined || run.result === 'died'
        ? undefined
        : (Date.parse(ended) - Date.parse(run.began)) / 1000,
    result: run.result,
    command: run.command,
    who: run.who,
    askedBy: run.asked_by,
    summary: changesOf(run),
    facts: known.flatMap(([name, value]): Fact[] => (value === undefined ? [] : [[name, value]])),
    problems: error === undefined ? [] : [error],
    resources: resources.map(({ address, action, result, id, paths, error: why }) => ({
      address,
      action,
      result,
      id,
      detail: why ?? paths.join(', '),
    })),
    more,
  };
}

export function pauseText({ by, because }: { readonly by: string; readonly because: string | null }): string {
  return because === null ? by : `${by}: ${because}`;
}

/** A decision of a person, as a run without writes. */
export function decision(
  result: 'paused' | 'resumed',
  { at, by, because = '' }: { readonly at: Date; readonly by: string; readonly because?: string | undefined },
): RunDetail {
  const id = `${at.toISOString().replace(/[-:.]/g, '')}-${result}`;
  const nothing = { facts: [], problems: [], resources: [], more: 0 };
  return {
    ...nothing,
    id,
    began: at,
    seconds: 0,
    result,
    command: 'watch',
    who: undefined,
    askedBy: by,
    summary: because && `because: ${because}`,
  };
}
