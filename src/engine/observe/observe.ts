import { kindNamed } from '../../kinds/index.ts';
import type { Address } from '../../manifests/resource.ts';
import type { Guards } from '../../project/project.ts';
import { createFingerprints, type Fingerprints, secretTexts } from '../../state/fingerprint.ts';
import { isTainted } from '../../values/value.ts';
import type { Binding, BindingRequest, Bound } from '../decide/bind.ts';
import type { Decision } from '../decide/decision.ts';
import { leavesOf } from '../decide/field-rules.ts';
import type { Observed } from '../decide/observed.ts';
import { recordsSecret, textsToMask } from '../decide/state-entry.ts';
import { DecidingAhead } from './decide-ahead.ts';
import type { ObserveOptions } from './observe-options.ts';
import type { PublicationsRequest } from './plan-publications.ts';
import type { ReadAhead } from './read-ahead.ts';
import { readAll } from './read-all.ts';

/** What a plan is made for, and with what. */
export interface PlanRequest
  extends Omit<ObserveOptions, 'workspaceId'>,
    BindingRequest,
    PublicationsRequest {
  readonly workspace: { readonly name: string; readonly id: string; readonly baseUrl: string };
  readonly guards: Guards;
  /** Sends again what the platform did not apply. */
  readonly retryIgnored?: boolean;
  readonly version: string;
  /** What was begun to be read before. Its time counts as when the platform was read. */
  readonly ahead?: ReadAhead | undefined;
  /** Says of each record that changes what leads to it; lists what that needs where something changes. */
  readonly routes?: boolean;
  now(): Date;
}

/** What a plan is made of beside the manifests and the state. */
export interface Snapshot {
  readonly observed: Observed;
  readonly observedAt: Date;
  /** Prepared for every secret of the resources, and for what the platform shows in its place. */
  readonly fingerprints: Fingerprints;
  /** What could be decided while other records were awaited. */
  readonly decided: ReadonlyMap<Address, Decision>;
}

/**
 * Looks at everything that the run is about, each thing once; what one record and its manifest decide alone is decided meanwhile.
 * @throws PlatformError when a read fails for another reason than that the record is missing.
 * @throws UserError when everything that was read belongs to other workspaces, or everything that was recorded is missing.
 */
export async function observe(bound: Bound, request: PlanRequest): Promise<Snapshot> {
  const observedAt = request.ahead?.since ?? request.now();
  const bindings = [...bound.bindings.values()];
  const fingerprints = createFingerprints(request.state.salt);
  const deciding = new DecidingAhead({ ...request, ...bound, fingerprints });
  const [observed] = await Promise.all([
    readAll(bindings, {
      ...observeOptions(request),
      ahead: request.ahead,
      onObserved: (binding, observation) => deciding.take(binding, observation),
    }),
    fingerprints.prepare(bindings.flatMap(({ resource }) => secretTexts(resource.spec))),
  ]);
  await fingerprints.prepare(shownSecrets(bound, observed));
  return { observed, observedAt, fingerprints, decided: deciding.decisions };
}

export function observeOptions(request: PlanRequest): ObserveOptions {
  return { ...request, workspaceId: request.workspace.id };
}

/** What the platform shows where a secret is or was sent: compared by fingerprint, like the secret itself. */
function* shownSecrets({ bindings }: Bound, observed: Observed): Generator<string> {
  for (const [address, observation] of observed.records) {
    const binding: Binding | undefined = bindings.get(address);
    if (observation.status !== 'shown' || binding === undefined) continue;
    if (!isTainted(binding.resource.spec) && !recordsSecret(binding.entry)) continue;
    const kind = kindNamed(binding.resource.kind);
    const { record } = observation;
    yield* textsToMask(kind, { leaves: leavesOf(kind, binding.resource.spec), entry: binding.entry, record });
  }
}
