import type { PlanDocument, PlannedResource } from '../../engine/plan/plan-document.ts';
import { planDocument } from '../../engine/plan/plan-schema.ts';
import { type ListedPull, type PullRow, pullStatus, type ShownPullPlan } from '../../fleet/rows/pull-rows.ts';
import type { SearchHit } from '../../fleet/rows/search-rows.ts';
import { kindOf } from '../../manifests/resource.ts';
import { hasManualStep } from '../../operator/plan-after.ts';
import type { ListedRun, RunDetail, WorkspaceDetail, WorkspaceRow } from '../page-data.ts';
import { referringTo } from '../resource-detail.ts';
import type { ListedResource } from '../views/resources-view.ts';
import type { ApiDocument } from './api-documents.ts';

/* Converts the contents of the page to JSON. */

type Item<Name extends 'search' | 'workspaces' | 'resources' | 'runs' | 'pulls'> = ApiDocument<Name>['items'][number];

export function searchHitJson({ address, status, resource, match }: SearchHit): Item<'search'> {
  return { workspace: address, status, resource: resource ?? null, match };
}

export function workspaceRowJson(row: WorkspaceRow): Item<'workspaces'> {
  const { address, status, since, checkedAt, isOld, summary, source, mode } = row;
  return { address, status, since: iso(since), checked_at: iso(checkedAt), stale: isOld, summary, source, mode };
}

export function workspaceJson(detail: WorkspaceDetail): Omit<ApiDocument<'workspace'>, 'frozen'> {
  const { shown, nextRun, running, held, problems, resources, orphans, externalLocation, stateProblem } = detail;
  const { workspaceId, baseUrl, commit, intervalSeconds, failures, paused, vanishedAt } = shown;
  const byStatus = Map.groupBy(resources, ({ status }) => status);
  return {
    ...workspaceRowJson(detail),
    workspace_id: workspaceId,
    base_url: baseUrl,
    commit,
    interval_seconds: intervalSeconds,
    next_run: iso(nextRun),
    running,
    failures,
    paused,
    vanished_at: vanishedAt,
    held: held ?? null,
    problems,
    resources: Object.fromEntries([...byStatus].map(([status, { length }]) => [status, length])),
    orphans,
    state_location: externalLocation ?? null,
    state_problem: stateProblem ?? null,
  };
}

export function resourceRowJson({ address, id, status, lines, url }: ListedResource): Item<'resources'> {
  return { address, kind: kindOf(address), id, status, details: lines, url: url ?? null };
}

export function resourceJson(
  row: ListedResource,
  { remaining, resource: parts }: WorkspaceDetail,
): ApiDocument<'resource'> {
  const { address } = row;
  const planned = remaining?.resources.find((each) => each.address === address);
  return {
    ...resourceRowJson(row),
    planned: planned === undefined ? null : withoutDigests(planned),
    fields: (parts?.fields ?? []).map(({ path, declared, live, changedBy, notes }) => {
      return { path, declared, live: live ?? null, moved: changedBy ?? null, notes: [...notes] };
    }),
    whole: parts?.isComplete ?? false,
    referred_by: referringTo(address, remaining?.resources),
    runs: (parts?.runs ?? []).map(runRowJson),
  };
}

/** Removes the digests, because a reader could use them to check guesses of secret values. */
function withoutDigests({ desired, observed_digest, ...resource }: PlannedResource) {
  return resource;
}

export function runRowJson(run: ListedRun): Item<'runs'> {
  const { id, began, seconds, result, command, user, askedBy, summary, plan } = run;
  return {
    ...{ id, began: began.toISOString(), seconds: seconds ?? null, result, command },
    ...{ who: user ?? null, asked_by: askedBy ?? null, summary, plan: plan ?? null },
  };
}

export function runJson(run: RunDetail): ApiDocument<'run'> {
  const { planState, facts, problems, resources, more } = run;
  return {
    ...runRowJson(run),
    plan_state: planState ?? null,
    facts: facts.map(([name, value]) => ({ name, value: value instanceof Date ? value.toISOString() : String(value) })),
    problems,
    resources,
    more,
  };
}

/** Returns the saved plan, if any, and the plan of the last run. */
export function plansJson({ saved, remaining, checkedAt, shown }: WorkspaceDetail): readonly ApiDocument<'plan'>[] {
  const { plan, rejected } = shown;
  const plans: ApiDocument<'plan'>[] = [];
  if (saved !== undefined) {
    const isRejected = rejected?.id === saved.id && plan?.id !== saved.id;
    plans.push({
      id: saved.id,
      state: isRejected ? 'rejected' : plan?.state === 'approved' ? 'approved' : 'waiting',
      made_at: iso(saved.madeAt),
      decided_by: (isRejected ? rejected : plan)?.by ?? null,
      ...planJson(saved.plan),
    });
  }
  if (remaining !== undefined)
    plans.push({
      id: 'remaining',
      state: 'remaining',
      made_at: iso(checkedAt),
      decided_by: null,
      ...planJson(remaining),
    });
  return plans;
}

function planJson({
  digest,
  secrets,
  state,
  resources,
  ...plan
}: PlanDocument): Pick<ApiDocument<'plan'>, 'summary' | 'plan'> {
  const { lineage, serial } = state;
  const open = resources.filter((each) => each.action !== 'noop' || hasManualStep(each));
  return {
    summary: plan.summary,
    plan: {
      ...plan,
      state: { lineage, serial },
      resources: open.map(withoutDigests),
    },
  };
}

export function pullRowJson(pull: ListedPull): Item<'pulls'> {
  const { source, number, title, author, url, state, branch, head, since, status, problem, workspaces } = pull;
  return { source, number, title, author, url, state, branch, head, since, status, problem, workspaces };
}

export function pullJson(pull: PullRow, plans: readonly ShownPullPlan[]): ApiDocument<'pull'> {
  const { source, number, title, author, url, state, branch, head, since, problem } = pull;
  return {
    ...{ source, number, title, author, url, state, branch, head, since: since.toISOString() },
    status: pullStatus(pull),
    problem: problem ?? null,
    base: pull.base,
    fork: pull.isFork,
    merged_as: pull.mergedAs ?? null,
    planned_at: iso(pull.plannedAt),
    plans: plans.map(({ address, result, madeAt, outcome, digest, notes, problem: failure, plan }) => ({
      address,
      result,
      made_at: madeAt.toISOString(),
      outcome: outcome ?? null,
      digest: digest ?? null,
      notes,
      problem: failure === undefined ? null : { message: failure.message, places: failure.places },
      plan: plan === undefined ? null : planJson(planDocument.parse(plan)).plan,
    })),
  };
}

function iso(at: Date | undefined): string | null {
  return at === undefined || Number.isNaN(at.getTime()) ? null : at.toISOString();
}
