import type { ApplyReport, ResourceResult } from '../../engine/apply/apply-report.ts';
import { UnknownCreateCounter } from '../../engine/apply/writing.ts';
import { inDependencyOrder } from '../../engine/decide/order.ts';
import type { PlanResult } from '../../engine/engine.ts';
import { writes } from '../../engine/plan/plan-actions.ts';
import { type PlanDocument, type PlannedResource, summaryOf } from '../../engine/plan/plan-document.ts';
import { kindNamed } from '../../kinds/index.ts';
import type { Address } from '../../manifests/resource.ts';
import type { NextStep } from '../../problems/next-step.ts';
import { type ApplyPlanInput, applyPlan } from '../apply-plan.ts';

interface BatchedApply extends ApplyPlanInput {
  /** The number of resources per batch; undefined for a single batch. */
  readonly batch: number | undefined;
  /** The next batch is started if at most this many resources have failed. */
  readonly maxFailures: number;
}

/** Applies a plan in batches, live records last. The result of a skipped resource has the reason. */
export async function applyInBatches({ batch, maxFailures, ...applyInput }: BatchedApply): Promise<ApplyReport> {
  const { planned } = applyInput;
  const { document } = planned.plan;
  const results = new Map<Address, ResourceResult>();
  const warnings = [...document.warnings];
  let interrupted: ApplyReport['interrupted'];
  let halted: string | undefined;
  let stateError: string | undefined;
  const lostCreates = new UnknownCreateCounter();
  const batches = batchesOf(document, batch);
  // An apply without writes still records adoptions in the state.
  const parts = batches.length === 0 ? [[]] : batches;
  for (const [index, resources] of parts.entries()) {
    if (halted !== undefined) {
      for (const { address } of resources) results.set(address, { status: 'skipped', because: halted });
      continue;
    }
    const ready = resources.filter(({ address, depends_on }) => {
      const because = depends_on.find((each) => (results.get(each)?.status ?? 'done') !== 'done');
      if (because !== undefined) results.set(address, { status: 'skipped', because: `${because} failed` });
      return because === undefined;
    });
    const rest = index === 0 ? document.resources.filter(({ action }) => !writes.has(action)) : [];
    const report = await applyPlan({ ...applyInput, lostCreates, planned: planOf(planned, [...ready, ...rest]) });
    for (const [address, result] of report.results) results.set(address, result);
    warnings.push(...report.warnings);
    interrupted ??= report.interrupted;
    stateError ??= report.stateError;
    const failed = [...results.values()].filter(({ status }) => status === 'failed').length;
    if (interrupted !== undefined) halted = 'the run was interrupted';
    else if (report.halted !== undefined) halted = report.halted;
    else if (batch !== undefined && failed > maxFailures)
      halted = `failures after batch ${index + 1} of ${parts.length}: ${failed}; --max-failures allows ${maxFailures}`;
  }
  return {
    plan: document,
    results,
    warnings,
    interrupted,
    ...(halted !== undefined && interrupted === undefined && { halted }),
    ...(stateError !== undefined && { stateError }),
  };
}

function planOf(planned: PlanResult, resources: readonly PlannedResource[]): PlanResult {
  const { plan } = planned;
  return { ...planned, plan: { ...plan, document: { ...plan.document, resources, warnings: [] } } };
}

/**
 * Splits the writes of a plan into batches of at most `size`. Each resource is in the batch of its dependencies or in a later one. Records
 * that are live as soon as they are created, and their dependents, have their own batches at the end.
 */
export function batchesOf(
  { resources }: Pick<PlanDocument, 'resources'>,
  size: number = Number.POSITIVE_INFINITY,
): PlannedResource[][] {
  const written = resources.filter(({ action }) => writes.has(action));
  const dependencies = new Map(written.map(({ address, depends_on }) => [address, depends_on]));
  const ordered = inDependencyOrder(written, dependencies);
  const live = new Set<Address>();
  for (const each of ordered)
    if (isLiveOnCreate(each) || each.depends_on.some((address) => live.has(address))) live.add(each.address);
  return [false, true].flatMap((isLive) =>
    splitIntoBatches(
      ordered.filter(({ address }) => live.has(address) === isLive),
      size,
    ),
  );
}

function splitIntoBatches<T>(items: readonly T[], size: number): T[][] {
  const batches: T[][] = [];
  for (let start = 0; start < items.length; start += size) batches.push(items.slice(start, start + size));
  return batches;
}

/** True if the plan creates a record that is live at once, such as a phone number, which then takes calls. */
function isLiveOnCreate({ kind, action }: PlannedResource): boolean {
  return (action === 'create' || action === 'replace') && kindNamed(kind).inTwoWorkspaces !== undefined;
}

/**
 * Defers creates of live records that refer to missing records which the plan does not create. An apply would run these creates, because
 * such references are manual steps, and calls would then reach a number without an agent.
 */
export function withLiveDeferred(planned: PlanResult): PlanResult {
  const { document } = planned.plan;
  const uncreated = new Set(
    document.resources.flatMap(({ address, action, id, missing }) =>
      !writes.has(action) && (id === null || missing === true) ? [address] : [],
    ),
  );
  const resources = document.resources.map((each) => {
    const reasons = each.depends_on.filter((address) => uncreated.has(address));
    return isLiveOnCreate(each) && reasons.length > 0 ? deferredResource(reasons, each) : each;
  });
  return {
    ...planned,
    plan: { ...planned.plan, document: { ...document, resources, summary: summaryOf(resources) } },
  };
}

function deferredResource(reasons: readonly Address[], { desired: _, ...planned }: PlannedResource): PlannedResource {
  const steps = reasons.map((address): NextStep => ({ action: 'wait_for', address, because: 'not_created' }));
  const reason = 'waits for a record it refers to, because a new record of this kind is live at once';
  return { ...planned, action: 'manual', reason, changes: [], steps };
}
