import { LostCreates } from '../../engine/apply/apply.ts';
import type { ApplyReport, ResourceResult } from '../../engine/apply/report.ts';
import type { Planned } from '../../engine/engine.ts';
import { type PlannedResource, writes } from '../../engine/plan/plan-document.ts';
import type { Address } from '../../manifests/resource.ts';
import { type CarryingOut, carryOut } from '../carry-out.ts';
import type { RunContext } from '../run-context.ts';
import { wavesOf } from './waves.ts';

export interface InWaves extends CarryingOut {
  /** Resources in one wave; all in one where absent. */
  readonly wave: number | undefined;
  /** Failures up to which another wave is begun. */
  readonly maxFailures: number;
}

/** Applies a plan wave by wave. What no wave reached any more is skipped, and its result says why. */
export async function carryOutInWaves(
  context: Pick<RunContext, 'interrupts' | 'now' | 'redactor'>,
  { wave, maxFailures, ...carrying }: InWaves,
): Promise<ApplyReport> {
  const { planned } = carrying;
  const { document } = planned.plan;
  const results = new Map<Address, ResourceResult>();
  const warnings = [...document.warnings];
  let interrupted: ApplyReport['interrupted'];
  let halted: string | undefined;
  const lostCreates = new LostCreates();
  const waves = wavesOf(document, wave);
  // Without anything to write there are still books to keep.
  const parts = waves.length === 0 ? [[]] : waves;
  for (const [index, resources] of parts.entries()) {
    if (halted !== undefined) {
      for (const { address } of resources) results.set(address, { status: 'skipped', because: halted });
      continue;
    }
    const rest = index === 0 ? document.resources.filter(({ action }) => !writes.has(action)) : [];
    const report = await carryOut(context, {
      ...carrying,
      lostCreates,
      planned: narrowed(planned, [...resources, ...rest]),
    });
    for (const [address, result] of report.results) results.set(address, result);
    warnings.push(...report.warnings);
    interrupted ??= report.interrupted;
    const failed = [...results.values()].filter(({ status }) => status === 'failed').length;
    if (interrupted !== undefined) halted = 'the run was interrupted';
    else if (report.halted !== undefined) halted = report.halted;
    else if (failed > maxFailures)
      halted = tooMany({ failed, maxFailures, wave: index + 1, waves: parts.length });
  }
  return {
    plan: document,
    results,
    warnings,
    interrupted,
    ...(halted !== undefined && interrupted === undefined && { halted }),
  };
}

function narrowed(planned: Planned, resources: readonly PlannedResource[]): Planned {
  const { plan } = planned;
  return { ...planned, plan: { ...plan, document: { ...plan.document, resources, warnings: [] } } };
}

interface Failures {
  readonly failed: number;
  readonly maxFailures: number;
  readonly wave: number;
  readonly waves: number;
}

function tooMany({ failed, maxFailures, wave, waves }: Failures): string {
  return `${failed} failed by batch ${wave} of ${waves}, and --max-failures allows ${maxFailures}`;
}
