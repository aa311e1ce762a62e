import { type ApplyReport, type ResourceResult, renamedBy } from '../engine/apply/apply-report.ts';
import { type ApplyInput, apply } from '../engine/apply/apply-resources.ts';
import type { PlanResult } from '../engine/engine.ts';
import { withDashboardLinks } from '../engine/plan/dashboard-links.ts';
import { approvalDigest } from '../engine/plan/plan-digest.ts';
import type { PlanDocument, PlannedResource, Violation } from '../engine/plan/plan-document.ts';
import { verifyWorkspace } from '../kinds/verify-workspace.ts';
import type { Guard } from '../problems/next-step.ts';
import { UserError } from '../problems/user-error.ts';
import type { RunEnding, RunResources } from '../state/run-history.ts';
import type { StateSession } from '../state/session.ts';
import type { Redactor } from '../values/redactor.ts';
import { commitId } from './local-user.ts';
import type { OpenWorkspace } from './open-workspace.ts';
import { changesIn } from './planning.ts';
import type { GuardOptions } from './run-context.ts';

export interface ApplyPlanInput extends Pick<ApplyInput, 'onError' | 'lostCreates' | 'onEvent'> {
  readonly opened: OpenWorkspace;
  /** An open session. Its state is the one from which the plan was made. */
  readonly session: StateSession;
  readonly planned: PlanResult;
  /** Default: the stop signal of the context. */
  readonly stop?: AbortSignal;
}

/** Applies an approved plan. The report contains no secrets. */
export async function applyPlan(input: ApplyPlanInput): Promise<ApplyReport> {
  const { opened, planned, onEvent, stop = opened.context.interrupts.stop, ...applyInput } = input;
  const { now, redactor, writes } = opened.context;
  const { session } = applyInput;
  const { document } = planned.plan;
  await recordCommit(opened, session, document);
  const report = await apply({
    ...planned,
    ...applyInput,
    verifyWorkspace: () => verifyWorkspace(planned.observing.client, opened.workspace.workspaceId),
    stop,
    permission: writes,
    secret: await opened.secretsOf(document),
    now,
    onEvent: (event) =>
      onEvent?.(event.type === 'finished' ? { ...event, result: redactedResult(event.result, redactor) } : event),
  });
  const results = new Map([...report.results].map(([address, result]) => [address, redactedResult(result, redactor)]));
  const ending = endingOf({ ...report, results }, document);
  const isComplete = ending.result === undefined;
  session.note({ ...ending, ...(!isComplete && stop.reason instanceof UserError && { error: stop.reason.message }) });
  const { stateError } = report;
  const plan = withLinksAfterApply(report.plan, results);
  return { ...report, plan, results, ...(stateError !== undefined && { stateError: redactor.redact(stateError) }) };
}

/** Updates the dashboard links. A created record now has an id, and an unknown create links to the list of its kind. */
function withLinksAfterApply(plan: PlanDocument, results: ApplyReport['results']): PlanDocument {
  const applied = plan.resources.map((resource): PlannedResource => {
    const result = results.get(resource.address);
    if (result?.status === 'done') return { ...resource, id: result.id ?? resource.id };
    const next = result?.status === 'failed' ? (result.next ?? []) : [];
    return next.some(({ action }) => action === 'import') ? { ...resource, action: 'unknown', steps: next } : resource;
  });
  const linked = withDashboardLinks({ ...plan, resources: applied }).resources;
  return {
    ...plan,
    resources: plan.resources.map(({ url: _, ...resource }, index) => {
      const url = linked[index]?.url;
      return url === undefined ? resource : { ...resource, url };
    }),
  };
}

/** Records the commit of the manifests, so that a later apply of older manifests is detected. */
async function recordCommit(opened: OpenWorkspace, session: StateSession, document: PlanDocument): Promise<void> {
  const commit = commitId(await opened.commit());
  if (commit === undefined || commit === session.state.appliedCommit || changesIn(document) === 0) return;
  // Not awaited, because the commit is stored with the first intent. If this fails, the session refuses all later writes.
  session.record({ type: 'applying', commit }).catch(() => undefined);
}

/** Returns the result of an apply for the history. The plan was applied, so all tripped guards were lifted. */
function endingOf(report: ApplyReport, { resources, guards, violations = [] }: PlanDocument): Partial<RunEnding> {
  const { results, interrupted } = report;
  const planned = new Map(resources.map((resource) => [resource.address, resource]));
  const isComplete = [...results.values()].every(({ status }) => status === 'done');
  const written = [...results].map(([address, each]): RunResources[number] => {
    const { action = 'noop', id = null, changes = [] } = planned.get(address) ?? {};
    const paths = action === 'create' || action === 'forget' ? [] : changes.map(({ path }) => path);
    const common = { address, action, paths, result: each.status };
    if (each.status === 'done') return { ...common, id: each.id };
    return { ...common, id, error: each.status === 'failed' ? (each.recorded ?? each.error) : each.because };
  });
  const renamed = renamedBy(report).map(({ address, previous_address: from, id }): RunResources[number] => {
    return { address, action: 'rename', from, id, paths: [], result: 'done' };
  });
  const result = interrupted !== undefined ? 'interrupted' : 'failed';
  return {
    ...((interrupted !== undefined || !isComplete) && { result }),
    resources: [...written, ...renamed],
    ...(guards.length > 0 && { lifted: guards.map(({ guard }) => guard) }),
    ...waiversIn(violations),
  };
}

/** Returns the fields that describe a plan in the history. The plan may have been refused. */
export function planInHistory(document: PlanDocument): Pick<RunEnding, 'plan'> {
  return { plan: { digest: document.digest ?? approvalDigest(document), summary: document.summary } };
}

/** Returns each waived rule with the reason and the affected resources. */
function waiversIn(violations: readonly Violation[]): Pick<RunEnding, 'waived'> {
  const byWaiver = Map.groupBy(violations, ({ rule, policy_file, waived }) =>
    JSON.stringify([rule, policy_file, waived]),
  );
  const waived = [...byWaiver.values()].flatMap((group) => {
    const [{ rule, policy_file, waived: because } = {}] = group;
    if (rule === undefined || policy_file === undefined || because === undefined) return [];
    return [{ rule, policy_file, because, addresses: group.map(({ address }) => address) }];
  });
  return waived.length === 0 ? {} : { waived };
}

/** Redacts a failed result. Must be called before its texts are wrapped and escaped. */
function redactedResult(result: ResourceResult, { redact }: Redactor): ResourceResult {
  if (result.status !== 'failed') return result;
  const { error, recorded, hint, advice = hint ?? '' } = result;
  return {
    ...result,
    error: redact(error),
    ...(recorded !== undefined && { recorded: redact(recorded) }),
    ...(hint !== undefined && {
      hint: redact(hint),
      advice: [advice]
        .flat()
        .map((part) => (typeof part === 'string' ? redact(part) : { command: redact(part.command) })),
    }),
  };
}

/** Returns the tripped guards that no option lifts. */
export function unliftedGuards(
  guards: PlanDocument['guards'],
  { allowLargeChange = false, allowOwnerChange = false, allowOlderCommit = false }: GuardOptions,
): PlanDocument['guards'] {
  const isLifted = {
    large_change: allowLargeChange,
    owner_change: allowOwnerChange,
    older_commit: allowOlderCommit,
  } satisfies Record<Guard, boolean>;
  return guards.filter(({ guard }) => !isLifted[guard]);
}

/** @throws UserError if a guard stops the plan and no option lifts it. */
export function refuseTrippedGuards({ guards }: PlanDocument, options: GuardOptions): void {
  const tripped = unliftedGuards(guards, options);
  if (tripped.length === 0) return;
  throw new UserError(`nothing was written: ${tripped.map(({ message }) => message).join('; ')}`, {
    next: [{ action: 'lift_guards', guards: [...new Set(tripped.map(({ guard }) => guard))] }],
  });
}
