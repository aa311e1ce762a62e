import { kindNamed } from '../../kinds/index.ts';
import type { Address } from '../../manifests/resource.ts';
import type { Guards } from '../../project/project.ts';
import { createFingerprints, type Fingerprints, secretTexts } from '../../state/fingerprint.ts';
import { isTainted } from '../../values/value.ts';
import type { Binding, BindingRequest, Bound } from '../decide/bind.ts';
import type { Decision } from '../decide/decision.ts';
import { leavesOf } from '../decide/field-rules.ts';
import type { Observed } from '../decide/observed.ts';
import { hasSecretFingerprints, valuesToMask } from '../decide/state-entry.ts';
import { DecideAhead } from './decide-ahead.ts';
import type { PublicationsRequest } from './plan-publications.ts';
import type { ReadAhead } from './read-ahead.ts';
import { readAll } from './read-all.ts';
import type { ObserveOptions } from './read-records.ts';

export interface PlanRequest extends Omit<ObserveOptions, 'workspaceId'>, BindingRequest, PublicationsRequest {
  readonly workspace: { readonly name: string; readonly id: string; readonly baseUrl: string };
  readonly guards: Guards;
  /** Resends fields whose last update the platform ignored. */
  readonly retryIgnored?: boolean;
  readonly version: string;
  /** Reads that were started while the manifests were loaded. Their start is the time of the observation. */
  readonly ahead?: ReadAhead | undefined;
  /** Adds the routes of each changing record to the plan. Reads further lists if needed. */
  readonly routes?: boolean;
  now(): Date;
}

export interface Snapshot {
  readonly observed: Observed;
  readonly observedAt: Date;
  /** Prepared for all secrets of the resources, and for the values that the platform returns in their fields. */
  readonly fingerprints: Fingerprints;
  /** Decisions made while other reads were in flight. */
  readonly decided: ReadonlyMap<Address, Decision>;
}

/**
 * Reads all records that the run needs, each once. Meanwhile, decides the actions of the resources that do not depend on others.
 * @throws PlatformError if a read fails, except for a missing record.
 * @throws UserError if all records belong to other workspaces, or if all recorded records are missing.
 */
export async function observe(bound: Bound, request: PlanRequest): Promise<Snapshot> {
  const observedAt = request.ahead?.since ?? request.now();
  const bindings = [...bound.bindings.values()];
  const fingerprints = createFingerprints(request.state.salt);
  const deciding = new DecideAhead({ ...request, ...bound, fingerprints });
  const [observed] = await Promise.all([
    readAll(bindings, {
      ...observeOptions(request),
      workspace: request.workspace,
      ahead: request.ahead,
      onObserved: (binding, observation) => deciding.add(binding, observation),
    }),
    fingerprints.prepare(bindings.flatMap(({ resource }) => secretTexts(resource.spec))),
  ]);
  await fingerprints.prepare(shownSecrets(bound, observed));
  return { observed, observedAt, fingerprints, decided: deciding.decisions };
}

export function observeOptions(request: PlanRequest): ObserveOptions {
  return { ...request, workspaceId: request.workspace.id };
}

/** Yields the values that the platform returns in secret fields. They are compared by fingerprint, like the secrets themselves. */
function* shownSecrets({ bindings }: Bound, observed: Observed): Generator<string> {
  for (const [address, observation] of observed.records) {
    const binding: Binding | undefined = bindings.get(address);
    if (observation.status !== 'shown' || binding === undefined) continue;
    if (!isTainted(binding.resource.spec) && !hasSecretFingerprints(binding.entry)) continue;
    const kind = kindNamed(binding.resource.kind);
    const { record } = observation;
    yield* valuesToMask(kind, { leaves: leavesOf(kind, binding.resource.spec), entry: binding.entry, record });
  }
}
