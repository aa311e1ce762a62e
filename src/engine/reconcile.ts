import type { Kind, Lookup } from '../kinds/kind.ts';
import { type Address, kindOf, type Resource } from '../manifests/resource.ts';
import type { PlatformClient } from '../platform/client.ts';
import type { Guards } from '../project/project.ts';
import { createFingerprints, type Fingerprints, secretTexts } from '../state/fingerprint.ts';
import type { State } from '../state/state.ts';
import { isTainted } from '../values/value.ts';
import { type Binding, bindResources } from './decide/bind.ts';
import { leavesOf } from './decide/field-rules.ts';
import { remembersSecret, textsToMask } from './decide/memory.ts';
import { refuseUnknown, type Selection, scopeOf } from './decide/scope.ts';
import { kindNamed } from './kind-named.ts';
import { DecidingAhead } from './observe/decide-ahead.ts';
import { type Observed, observe } from './observe/observe.ts';
import type { ObserveOptions } from './observe/observe-options.ts';
import type { ReadAhead } from './observe/read-ahead.ts';
import type { ReadProgress } from './observe/read-counter.ts';
import { makePlan, type Plan } from './plan/plan.ts';
import { planWithPublications } from './plan/plan-publications.ts';
import { planWithRoutes } from './plan/plan-routes.ts';

/** What voxform is asked to bring about, and with what. */
export interface Reconciling {
  /** Everything that the manifests declare for the workspace. */
  readonly desired: readonly Resource[];
  readonly state: State;
  readonly selection: Selection;
  readonly client: PlatformClient;
  readonly kinds: ReadonlyMap<string, Kind>;
  readonly lookups: ReadonlyMap<string, Lookup>;
  readonly workspace: { readonly name: string; readonly id: string; readonly baseUrl: string };
  /** What a command line needs to mean this workspace, such as ` -w staging`; nothing where there is only one. */
  readonly workspaceFlag?: string | undefined;
  readonly guards: Guards;
  readonly concurrency: number;
  readonly refresh: boolean;
  /** Addresses whose missing records are created again, or `all`. */
  readonly allowRecreate: readonly string[];
  /** Go on where every record that was read is missing. */
  readonly evenIfAll: boolean;
  readonly allowReplace: readonly Address[];
  /** Sends again what the platform did not apply. */
  readonly retryIgnored?: boolean;
  readonly version: string;
  /** What was begun to be read before. Its time counts as when the platform was read. */
  readonly ahead?: ReadAhead | undefined;
  /** Says of each record that changes what leads to it; lists what that needs where something changes. */
  readonly routes?: boolean;
  /** Compares drafts that may be newer than their published version with it: those that change, or all. */
  readonly publications?: 'changes' | 'all' | undefined;
  now(): Date;
  onProgress?(progress: ReadProgress): void;
}

/** A plan with all that `apply` needs to carry it out. */
export interface Planned {
  readonly plan: Plan;
  readonly observing: ObserveOptions;
  readonly observedAt: Date;
  readonly fingerprints: Fingerprints;
}

/**
 * The tool's idea: what is desired, what is remembered and what the platform shows, laid side by side. `apply` does the rest.
 * Nothing is written.
 */
export async function reconcile(input: Reconciling): Promise<Planned> {
  const { desired, state } = input;
  // What a newer voxform keeps there must not be forgotten by this one.
  for (const address of [...state.resources.keys(), ...state.pending.keys()])
    kindNamed(input.kinds, kindOf(address));
  const declared = new Set(desired.map(({ address }) => address));
  const scope = scopeOf(input.selection, { resources: desired, state });
  refuseUnknown(input.allowReplace, { known: declared, option: '--allow-replace' });
  const allowRecreate = new Set(input.allowRecreate);
  const named = input.allowRecreate.filter((each) => each !== 'all');
  refuseUnknown(named, { known: declared, option: '--allow-recreate' });
  const inScope = desired.filter(({ address }) => scope?.has(address) ?? true);
  const bindings = bindResources(inScope, { state, declared, kinds: input.kinds });

  const observing = observeOptions(input);
  const fingerprints = createFingerprints(state.salt);
  const observedAt = input.ahead?.since ?? input.now();
  const { kinds, workspaceFlag, retryIgnored = false } = input;
  const allowReplace = new Set(input.allowReplace);
  const deciding = new DecidingAhead({
    kinds,
    state,
    fingerprints,
    allowReplace,
    retryIgnored,
    allowRecreate,
    workspaceFlag,
  });
  const [observed] = await Promise.all([
    observe([...bindings.values()], {
      ...observing,
      ahead: input.ahead,
      onObserved: (binding, observation) => deciding.take(binding, observation),
    }),
    fingerprints.prepare(inScope.flatMap(({ spec }) => secretTexts(spec))),
  ]);
  await fingerprints.prepare(shownSecrets({ bindings, observed, kinds: input.kinds }));

  const plan = makePlan({
    bindings,
    declared,
    scope,
    state,
    observed,
    fingerprints,
    kinds,
    lookups: input.lookups,
    workspace: input.workspace,
    workspaceFlag,
    refreshed: input.refresh,
    allowReplace,
    retryIgnored,
    allowRecreate,
    decided: deciding.decisions,
    guards: input.guards,
    version: input.version,
  });
  const routed = input.routes ? await planWithRoutes(plan, { desired, options: observing }) : plan;
  const { publications } = input;
  const told =
    publications === undefined ? routed : await planWithPublications(routed, publications, observing);
  return { plan: told, observing, observedAt, fingerprints };
}

function observeOptions(input: Reconciling): ObserveOptions {
  return {
    client: input.client,
    kinds: input.kinds,
    lookups: input.lookups,
    workspaceId: input.workspace.id,
    workspaceFlag: input.workspaceFlag,
    state: input.state,
    concurrency: input.concurrency,
    refresh: input.refresh,
    evenIfAll: input.evenIfAll,
    ...(input.onProgress !== undefined && { onProgress: input.onProgress }),
  };
}

interface Shown {
  readonly bindings: ReadonlyMap<Address, Binding>;
  readonly observed: Observed;
  readonly kinds: ReadonlyMap<string, Kind>;
}

/** What the platform shows where a secret is or was sent: compared by fingerprint, like the secret itself. */
function* shownSecrets({ bindings, observed, kinds }: Shown): Generator<string> {
  for (const [address, observation] of observed.records) {
    const binding = bindings.get(address);
    if (observation.status !== 'shown' || binding === undefined) continue;
    if (!isTainted(binding.resource.spec) && !remembersSecret(binding.entry)) continue;
    const kind = kindNamed(kinds, binding.resource.kind);
    const facts = {
      leaves: leavesOf(kind, binding.resource.spec),
      entry: binding.entry,
      record: observation.record,
    };
    yield* textsToMask(kind, facts);
  }
}
