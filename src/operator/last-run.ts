import { z } from 'zod';
import type { PlanDocument } from '../engine/plan/plan-document.ts';
import { planDocument } from '../engine/plan/plan-schema.ts';
import type { Json, JsonObject } from '../values/json.ts';
import { lazy } from '../values/lazy.ts';
import { nameCounts } from '../values/name-counts.ts';
import { countsOf, violationsIn } from './health/metrics.ts';
import { failureMessage, holdMessage, invalidLines, messageOf, planWords } from './messages.ts';
import { hasManualStep, isAtRisk } from './plan-after.ts';
import type { RunReport } from './run-report.ts';
import { requestSummary } from './run-summary.ts';
import type { Need, WorkspaceStatus } from './workspace-status.ts';

/** The maximum length of each list in the results: problems, unknown resources and drifted resources. */
const MAX_ITEMS = 50;

interface RunEnd {
  readonly after: PlanDocument | undefined;
  readonly now: Date;
  /** The error of a run that was stopped because it took too long. */
  readonly timeout?: Error | undefined;
  /** The id of the rejected plan, if it would otherwise wait for approval. */
  readonly rejected?: string | undefined;
  redact(text: string): string;
  /** Returns the text of an error for storage. */
  textOf?(error: unknown): string;
}

/** Returns the results of a run, without secrets. If the platform was not read, the caller keeps the missing fields of earlier runs. */
export function resultsOf(report: RunReport, ended: RunEnd): JsonObject {
  const { result, seconds, plan, drift, missing, hold, invalid, selection, commit, labels } = report;
  const { after, redact, timeout, now, rejected, textOf = (error) => messageOf(error, selection) } = ended;
  const error = timeout ?? report.error;
  const errorText = error === undefined ? null : redact(textOf(error));
  const succeeded = report.applied.filter((each) => each.result.status === 'done');
  const problems = [
    ...(invalid === undefined ? [] : invalidLines(invalid)),
    ...report.applied.flatMap((each) => (each.result.status === 'done' ? [] : [failureMessage(each, selection)])),
  ];
  return {
    result: timeout === undefined ? result : 'timeout',
    seconds: Math.round(seconds * 1000) / 1000,
    commit: commit ?? null,
    hold: hold?.reason ?? null,
    ...(hold?.reason === 'frozen' && { held: redact(holdMessage(hold, planWords(report), selection)) }),
    ...(rejected !== undefined && { rejected }),
    ...(report.request !== undefined && { pull_request: requestSummary(report.request) }),
    // A run that found the lock held keeps the problems of the previous run.
    ...(result === 'busy' && timeout === undefined
      ? { lock: errorText }
      : { problems: problems.slice(0, MAX_ITEMS).map(redact), error: errorText }),
    ...(labels !== undefined && { labels: labels.map(redact) }),
    ...(plan !== undefined && {
      records: plan.resources.filter(({ id }) => id !== null).length,
      applied: nameCounts(succeeded.map(({ action }) => action)),
      at_risk: after?.resources.filter(isAtRisk).length ?? 0,
      manual_steps: after?.resources.filter(hasManualStep).length ?? 0,
      orphans: report.orphans.length,
      ...(plan.dashboard !== undefined && { dashboard: plan.dashboard }),
      ...(report.files !== undefined && { files: redact(report.files) }),
      counts: Object.fromEntries([...countsOf(report)].filter(([, count]) => count > 0)),
      unknown: (after?.resources ?? [])
        .filter(({ action }) => action === 'unknown')
        .slice(0, MAX_ITEMS)
        .map(({ address }) => address),
      ...(plan.violations?.length && { violations: violationsIn(plan) }),
      drift: drift.slice(0, MAX_ITEMS).map(({ address }) => address),
      missing: missing.map(({ address, id, since }) => ({ address, id, since: since ?? now.toISOString() })),
    }),
  };
}

/** Returns the result of a run. It is `invalid` if the newest manifests are invalid, even if the run succeeded with the last valid ones. */
export function runResult({ result, invalid }: Pick<RunReport, 'result' | 'invalid'>): string {
  return invalid !== undefined && result === 'ok' ? 'invalid' : result;
}

const MAX_RESOURCES = 200;

/** Returns the resources of a run that are stored, and the number of omitted resources. */
export function limitResources<T>(resources: readonly T[]): { readonly resources: T[]; readonly more: number } {
  return { resources: resources.slice(0, MAX_RESOURCES), more: Math.max(0, resources.length - MAX_RESOURCES) };
}

/** Parses the results of a run. Results that another version of voxform stored may lack fields. */
const lastRun = lazy(() =>
  z.object({
    result: z.string().nullable().catch(null),
    error: z.string().nullable().catch(null),
    lock: z.string().nullable().catch(null),
    because: z.string().optional().catch(undefined),
    problems: z.array(z.string()).catch([]),
    counts: z.record(z.string(), z.number()).catch({}),
    applied: z.record(z.string(), z.number()).catch({}),
    at_risk: z.number().catch(0),
    manual_steps: z.number().catch(0),
    orphans: z.number().catch(0),
    drift: z.array(z.string()).catch([]),
    missing: z.array(z.object({ address: z.string() })).catch([]),
    labels: z.array(z.string()).catch([]),
    dashboard: planDocument.shape.dashboard.catch(undefined),
    files: z.string().optional().catch(undefined),
    hold: z.string().nullable().catch(null),
    held: z.string().optional().catch(undefined),
    fetch_problem: z.string().nullable().catch(null),
    resources: z
      .array(
        z.object({
          address: z.string(),
          action: z.string(),
          result: z.string(),
          id: z.string().nullable(),
          detail: z.string(),
        }),
      )
      .catch([]),
    more: z.number().catch(0),
    pull_request: z
      .object({
        status: z.string().nullable(),
        url: z.url({ protocol: /^https?$/ }).nullable(),
        message: z.string().nullable(),
        problem: z.string().nullable(),
      })
      .optional()
      .catch(undefined),
  }),
);

export type LastRun = z.infer<ReturnType<typeof lastRun>>;

export function lastRunOf(results: Json | undefined): LastRun {
  return lastRun().parse(results ?? {});
}

/** True if the workspace has this need. The fleet database evaluates the same condition in SQL, to filter and count rows. */
export function hasNeed(need: Need, last: LastRun, status: WorkspaceStatus): boolean {
  const { at_risk: atRisk, counts, missing, result, manual_steps: manualSteps, orphans } = last;
  switch (need) {
    case 'records':
      return atRisk + (counts.unknown ?? 0) + missing.length > 0;
    case 'refused':
      return result === 'refused' && !['failed', 'invalid', 'paused', 'vanished'].includes(status);
    case 'steps':
      return manualSteps + orphans > 0 && (status === 'in-sync' || status === 'pending');
    default:
      return need satisfies never;
  }
}
