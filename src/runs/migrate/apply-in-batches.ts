import { LostCreates } from '../../engine/apply/apply.ts';
import type { ApplyReport, ResourceResult } from '../../engine/apply/apply-report.ts';
import type { PlanResult } from '../../engine/engine.ts';
import { type PlannedResource, writes } from '../../engine/plan/plan-document.ts';
import type { Address } from '../../manifests/resource.ts';
import { type ApplyPlanInput, applyPlan } from '../apply-plan.ts';
import type { RunContext } from '../run-context.ts';
import { batchesOf } from './batches.ts';

interface BatchedApply extends ApplyPlanInput {
  /** Resources in one batch; all in one where absent. */
  readonly batch: number | undefined;
  /** Failures up to which another batch is begun. */
  readonly maxFailures: number;
}

/** Applies a plan batch by batch. What no batch reached any more is skipped, and its result says why. */
export async function applyInBatches(
  context: Pick<RunContext, 'interrupts' | 'now' | 'redactor'>,
  { batch, maxFailures, ...carrying }: BatchedApply,
): Promise<ApplyReport> {
  const { planned } = carrying;
  const { document } = planned.plan;
  const results = new Map<Address, ResourceResult>();
  const warnings = [...document.warnings];
  let interrupted: ApplyReport['interrupted'];
  let halted: string | undefined;
  let stateError: string | undefined;
  const lostCreates = new LostCreates();
  const batches = batchesOf(document, batch);
  // Without anything to write there are still books to keep.
  const parts = batches.length === 0 ? [[]] : batches;
  for (const [index, resources] of parts.entries()) {
    if (halted !== undefined) {
      for (const { address } of resources) results.set(address, { status: 'skipped', because: halted });
      continue;
    }
    const rest = index === 0 ? document.resources.filter(({ action }) => !writes.has(action)) : [];
    const report = await applyPlan(context, {
      ...carrying,
      lostCreates,
      planned: narrowed(planned, [...resources, ...rest]),
    });
    for (const [address, result] of report.results) results.set(address, result);
    warnings.push(...report.warnings);
    interrupted ??= report.interrupted;
    stateError ??= report.stateError;
    const failed = [...results.values()].filter(({ status }) => status === 'failed').length;
    if (interrupted !== undefined) halted = 'the run was interrupted';
    else if (report.halted !== undefined) halted = report.halted;
    else if (failed > maxFailures)
      halted = `${failed} failed by batch ${index + 1} of ${parts.length}, and --max-failures allows ${maxFailures}`;
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

function narrowed(planned: PlanResult, resources: readonly PlannedResource[]): PlanResult {
  const { plan } = planned;
  return { ...planned, plan: { ...plan, document: { ...plan.document, resources, warnings: [] } } };
}
