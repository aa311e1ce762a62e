import { hash } from 'node:crypto';
import { driftOf } from '../engine/decide/drift-view.ts';
import type { PlanResult } from '../engine/engine.ts';
import type { PlanDocument, PlannedResource } from '../engine/plan/plan-document.ts';
import type { Resource } from '../manifests/resource.ts';
import type { PlatformClient } from '../platform/client.ts';
import { planWithViolations } from '../runs/judged-plan.ts';
import type { PlatformOptions } from '../runs/run-context.ts';
import type { State } from '../state/state.ts';
import type { LoadedVersion } from './load-version.ts';
import type { DriftedResource } from './run-report.ts';

/** The plan to apply, and the drift. */
export interface PlannedRun extends PlanResult {
  readonly drift: PlanDocument;
}

interface PlanningRun {
  readonly state: State;
  readonly client: PlatformClient;
  readonly options: PlatformOptions & { readonly allowReplace?: readonly string[] };
  /** True if the run must not correct drift, because a person may accept it. */
  readonly keepsDrift: boolean;
}

/** Makes the plan of a run. If drift is kept, the plan contains a drifted field only if the manifest changed it too. */
export async function planRun(
  { opened, resources }: LoadedVersion,
  { state, client, options, keepsDrift }: PlanningRun,
): Promise<PlannedRun> {
  const plan = (desired: readonly Resource[]) =>
    planWithViolations({ opened, state, client, desired, options: { ...options, refresh: true } });
  const first = await plan(resources);
  const drift = driftOf(first.plan);
  if (!keepsDrift) return { ...first, drift };
  const openDrift = withoutConflicts(drift);
  const drifted = new Map(
    openDrift.resources.map(({ address, changes }) => [address, changes.map(({ path }) => path)]),
  );
  const desired = resources.map((each) => {
    const paths = drifted.get(each.address) ?? [];
    return paths.length === 0 ? each : { ...each, ignoreDrift: [...each.ignoreDrift, ...paths] };
  });
  if (desired.every((each, index) => each === resources[index])) return { ...first, drift: openDrift };
  return { ...(await plan(desired)), drift: openDrift };
}

/** Removes the drifted fields that the manifest changed too, because their changes are applied. */
function withoutConflicts(drift: PlanDocument): PlanDocument {
  const resources = drift.resources.map((resource): PlannedResource => {
    const changes = resource.changes.filter(({ cause }) => cause !== 'both');
    if (changes.length === resource.changes.length) return resource;
    return { ...resource, changes, ...(changes.length === 0 && { action: 'noop' }) };
  });
  return { ...drift, resources };
}

/** Returns the drifted resources of a plan. A missing record is not drift. */
export function driftIn({ resources }: PlanDocument): DriftedResource[] {
  return resources
    .filter(({ action, missing }) => action !== 'noop' && missing !== true)
    .map(({ address, changes }) => ({
      address,
      fields: changes.map(({ path }) => path),
      digest: digestOf(changes),
    }));
}

function digestOf(changes: PlannedResource['changes']): string {
  const values = changes.map(({ path, before, fingerprints }) => [path, before, fingerprints?.before]);
  return hash('sha256', JSON.stringify(values));
}
