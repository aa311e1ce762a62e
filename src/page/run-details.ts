import { writes } from '../engine/plan/plan-actions.ts';
import type { PlanDocument } from '../engine/plan/plan-document.ts';
import { type LastRun, lastRunOf, limitResources, resultsOf, runResult } from '../operator/last-run.ts';
import { holdMessage, messageOf, planWords } from '../operator/messages.ts';
import { appliedRows, planAfter, remainingIn } from '../operator/plan-after.ts';
import type { RunReport } from '../operator/run-report.ts';
import { needWords, type StoredRun } from '../operator/shown-workspace.ts';
import { countWords, doneWords } from '../output/action-words.ts';
import { changesOf, waiverText } from '../output/history-text.ts';
import type { PastRun } from '../runs/past-runs.ts';
import type { JsonObject } from '../values/json.ts';
import type { Fact, RunDetail } from './page-data.ts';

/** Converts a run of `watch` to the form in which a fleet stores runs. Only the displayed resources of the plan are included. */
export function runOfReport(report: RunReport, redact: (text: string) => string): StoredRun {
  const { startedAt, number, seconds, mode, triggers, askedBy, commit, id } = report;
  const { hold, selection, fetchProblem } = report;
  const resources = resourcesIn(report, redact);
  const summary: JsonObject = {
    ...resultsOf(report, { after: planAfter(report), redact, now: startedAt }),
    fetch_problem: fetchProblem === undefined ? null : redact(messageOf(fetchProblem, selection)),
    ...(hold !== undefined && { held: redact(holdMessage(hold, planWords(report), selection)) }),
    ...(resources.length > 0 && limitResources(resources.map((each) => ({ ...each })))),
  };
  return {
    id: `${timeId(startedAt)}-${number}`,
    command: 'watch',
    run: id ?? '',
    startedAt,
    seconds,
    mode,
    result: runResult(report),
    why: triggers.join(', '),
    askedBy: askedBy.join(', ') || null,
    commit,
    process: String(process.pid),
    summary,
  };
}

/** Converts a person's decision in `watch` to a run without writes. */
export function runOfDecision({ startedAt, result, ...decision }: Decision): StoredRun {
  const id = `${timeId(startedAt)}-${result}`;
  return { ...decision, id, startedAt, result, command: 'watch', run: '', seconds: 0, process: '' };
}

type Decision = Pick<StoredRun, 'startedAt' | 'result' | 'mode' | 'askedBy' | 'summary'>;

function timeId(at: Date): string {
  return at.toISOString().replace(/[-:.]/g, '');
}

/** Returns the missing, drifted, changed and planned resources of a run. */
function resourcesIn(report: RunReport, redact: (text: string) => string): RunDetail['resources'] {
  const { drift, missing, plan } = report;
  const planned = new Map(plan?.resources.map((each) => [each.address, each]));
  const found = [
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
  const addresses = new Set(found.map(({ address }) => address));
  return [...found, ...plannedIn(plan).filter(({ address }) => !addresses.has(address))];
}

/** Returns the actions and manual steps of a plan. */
export function plannedIn(plan: PlanDocument | undefined): RunDetail['resources'] {
  return remainingIn(plan).map(({ address, action, id, changes }) => ({
    address,
    action,
    result: writes.has(action) ? 'planned' : action,
    id,
    detail: action === 'update' ? changes.map(({ path }) => path).join(', ') : '',
  }));
}

interface RunData {
  /** The runs in the history of the state. */
  readonly past?: readonly PastRun[];
  /** The plan of the run, if it is still stored. */
  readonly plan?: { readonly plan: PlanDocument; readonly state: string } | undefined;
}

export function detailOfStoredRun(run: StoredRun, { past = [], plan: storedPlan }: RunData = {}): RunDetail {
  const { id, command, startedAt, seconds, result, mode, why, askedBy, commit, plan, process, summary } = run;
  const last = lastRunOf(summary);
  const pastRun = past.find((each) => isSameRun(each, run));
  // A run without a process is a person's decision, which has no plan of its own.
  const planned = process === '' ? [] : plannedIn(storedPlan?.plan);
  const done = [...doneWords(last.applied), ...countWords(last.counts)];
  const problems = [last.lock, last.error, last.fetch_problem, ...last.problems].filter((each) => each !== null);
  const facts: readonly (readonly [string, string | null | undefined])[] = [
    ['Mode', mode === '' ? null : mode],
    ['Trigger', why],
    ['Commit', commit],
    ['Process', process === '' ? null : process],
    ['Not applied', last.held],
  ];
  return {
    id,
    began: startedAt,
    seconds,
    result: result !== 'ok' ? result : last.hold === null ? 'done' : 'planned',
    command,
    user: undefined,
    askedBy: askedBy ?? undefined,
    summary:
      problems[0] ??
      (last.because && `reason: ${last.because}`) ??
      (last.hold === 'frozen' ? last.held : undefined) ??
      (done.length > 0 ? done : needWords(last)).join(', '),
    plan: plan ?? undefined,
    planState: storedPlan?.state ?? 'gone',
    facts: [
      ...facts.flatMap(([name, value]): Fact[] => (value === null || value === undefined ? [] : [[name, value]])),
      ...requestFacts(last.pull_request),
    ],
    problems,
    ...(pastRun !== undefined
      ? resourcesOfPastRun(pastRun)
      : last.resources.length > 0
        ? { resources: last.resources, more: last.more }
        : limitResources(planned)),
  };
}

/** Returns the link or the message of the drift request as a fact; empty if there is no drift request. */
export function requestFacts(request: LastRun['pull_request']): Fact[] {
  if (request === undefined || request.status === 'none' || request.status === null) return [];
  const { url, status, message } = request;
  const isLink = url !== null && (status === 'open' || status === 'closed');
  return [[status === 'closed' ? 'Closed pull request' : 'Pull request', isLink ? new URL(url) : (message ?? status)]];
}

/** True if both entries describe the same run. The history of the state contains the runs that acquired the lock. */
export function isSameRun(
  { run, command, began }: PastRun,
  { run: id, command: storedCommand, startedAt, seconds, process, result }: StoredRun,
): boolean {
  if (id !== undefined) return run === id;
  const at = Date.parse(began);
  return (
    command === storedCommand &&
    // Decisions and runs that only planned are not in the history.
    process !== '' &&
    result !== 'planned' &&
    at >= startedAt.getTime() - 1000 &&
    at <= startedAt.getTime() + seconds * 1000 + 1000
  );
}

/** Converts a run from the history of a state. */
export function detailOfPastRun(run: PastRun): RunDetail {
  const { error, ended, job, plan, lifted = [], waived = [] } = run;
  const facts: readonly (readonly [string, string | undefined])[] = [
    ['Last write', run.result === 'died' ? ended : undefined],
    ['Job', job && `${job.name} ${job.url}`],
    ['Commit', run.commit],
    ['voxform', run.voxform_version],
    ['Plan digest', plan?.digest],
    ['Approved by', run.approved_by],
    ['Unlocked by', run.unlocked_by],
    ['Moved from', run.moved_from],
    ['Moved to', run.moved_to],
    ['Lifted guards', lifted.join(', ') || undefined],
    ['Waived', waived.map(waiverText).join('; ') || undefined],
  ];
  return {
    id: run.run,
    began: new Date(run.began),
    seconds:
      ended === undefined || run.result === 'died' ? undefined : (Date.parse(ended) - Date.parse(run.began)) / 1000,
    result: run.result,
    command: run.command,
    user: run.who,
    askedBy: run.asked_by,
    summary: changesOf(run),
    facts: facts.flatMap(([name, value]): Fact[] => (value === undefined ? [] : [[name, value]])),
    problems: error === undefined ? [] : [error],
    ...resourcesOfPastRun(run),
  };
}

function resourcesOfPastRun({ resources = [], more = 0 }: PastRun): Pick<RunDetail, 'resources' | 'more'> {
  return {
    resources: resources.map(({ address, action, result, id, paths, error }) => ({
      address,
      action,
      result,
      id,
      detail: error ?? paths.join(', '),
    })),
    more,
  };
}
