import { kinds } from '../../kinds/index.ts';
import { type Address, idKey, kindOf } from '../../manifests/resource.ts';
import { compareText } from '../../problems/compare-text.ts';
import type { Guards } from '../../project/project.ts';
import type { Orphan, ResourceEntry } from '../../state/state-document.ts';
import { lazy } from '../../values/lazy.ts';
import { Secret, symbolicLeaves } from '../../values/value.ts';
import { PLAN_FORMAT_VERSION } from '../plan/plan-actions.ts';
import { type PlanDocument, type PlannedResource, type PlanWarning, summaryOf } from '../plan/plan-document.ts';
import { decideAll } from './decide-all.ts';
import type { DecideInput } from './decision.ts';
import { trippedGuards } from './guards.ts';
import type { NamedRecord } from './known-records.ts';
import type { Observed } from './observed.ts';
import { dependenciesOf, inDependencyOrder } from './order.ts';
import { namesOf, withNames } from './planned-names.ts';
import { refuseAmbiguousNames } from './references.ts';
import { renameWarnings } from './renames.ts';

export interface PlanInput extends DecideInput {
  readonly workspace: { readonly name: string; readonly id: string; readonly baseUrl: string };
  /** False if the records in the state were not read. */
  readonly refresh: boolean;
  readonly guards: Guards;
  readonly version: string;
}

/** The plan document, with the data that an apply needs. */
export interface Plan {
  readonly document: PlanDocument;
  /** State entries of resources that need no write. */
  readonly settled: ReadonlyMap<Address, ResourceEntry>;
  readonly observed: Observed;
  /** Records that updates would refer to, but that this run did not read. */
  readonly unchecked: readonly NamedRecord[];
}

/**
 * Decides all actions of an apply. Pure. The order of the input does not affect the plan.
 * @throws UserError if a reference names several records.
 */
export function makePlan(input: PlanInput): Plan {
  const resources = [...input.bindings.values()].map((binding) => binding.resource);
  refuseAmbiguousNames(resources, input.observed.lookups);
  const dependencies = new Map(
    resources.map((resource) => [resource.address, dependenciesOf(resource, input.declared)]),
  );
  const decisions = decideAll(inDependencyOrder(resources, dependencies), input);
  const names = lazy(() => namesOf(input.state, input.bindings, input.observed.lookups));
  const planned = [...decisions.values()].map(({ planned }) => ({
    ...planned,
    changes: withNames(planned.changes, kinds.get(planned.kind), names),
    depends_on: [...(dependencies.get(planned.address) ?? [])],
  }));
  const undeclaredResources = planUndeclared(input, planned);
  const released = new Map(undeclaredResources.toReversed().map((each) => [idKey(each.kind, each.id ?? ''), each]));
  const all = [...planned.map((each) => waitForRelease(each, released)), ...undeclaredResources].sort((a, b) =>
    compareText(a.address, b.address),
  );
  const warnings = [...decisions.values()]
    .flatMap(({ planned, warnings }) =>
      warnings.map((remark): PlanWarning => ({ address: planned.address, ...remark })),
    )
    .concat(renameWarnings(all, input))
    .concat(input.observed.returned.map((orphan) => returnedWarning(orphan, input)))
    .sort((a, b) => compareText(`${a.address} ${a.message}`, `${b.address} ${b.message}`));

  return {
    document: {
      format_version: PLAN_FORMAT_VERSION,
      voxform_version: input.version,
      workspace: input.workspace.name,
      workspace_id: input.workspace.id,
      base_url: input.workspace.baseUrl,
      state: { lineage: input.state.lineage, serial: input.state.serial, salt: input.state.salt },
      refreshed: input.refresh,
      summary: summaryOf(all),
      secrets: secretsOf(all, input),
      resources: all,
      guards: trippedGuards(all, {
        guards: input.guards,
        observed: input.observed,
        managed: input.state.resources.size,
        isManaged: ({ address, previous_address }) =>
          input.state.resources.has(address) || input.state.resources.has(previous_address ?? address),
      }),
      warnings,
    },
    settled: new Map(
      [...decisions].flatMap(([address, { settled }]) => (settled === undefined ? [] : [[address, settled]])),
    ),
    observed: input.observed,
    unchecked: [...decisions.values()].flatMap(({ unchecked = [] }) => unchecked),
  };
}

/** Makes an import wait for the release of the same record at another address. Otherwise the record would become an orphan. */
function waitForRelease(planned: PlannedResource, released: ReadonlyMap<string, PlannedResource>): PlannedResource {
  const holder = planned.adopted && planned.id !== null && released.get(idKey(planned.kind, planned.id));
  if (!holder) return planned;
  return { ...planned, depends_on: [...planned.depends_on, holder.address].sort() };
}

/** Plans the actions for state entries and unknown creates that no manifest declares. */
function planUndeclared(input: PlanInput, planned: readonly PlannedResource[]): PlannedResource[] {
  const taken = new Set(planned.flatMap(({ address, previous_address }) => [address, previous_address ?? address]));
  const isUndeclared = (address: Address): boolean =>
    !input.declared.has(address) && !taken.has(address) && (input.scope?.has(address) ?? true);
  const base = (address: Address) => ({
    address,
    kind: kindOf(address),
    source: null,
    changes: [],
    depends_on: [],
  });
  const forgotten = [...input.state.resources].filter(
    ([address]) => isUndeclared(address) && !input.state.pending.has(address),
  );
  const pending = [...input.state.pending].filter(([address]) => isUndeclared(address));
  return [
    ...forgotten.map(([address, entry]) => planForget(base(address), entry)),
    ...pending.map(([address, { since }]) => ({
      ...base(address),
      action: 'unknown' as const,
      id: input.state.resources.get(address)?.id ?? null,
      reason: `the create sent at ${since} was not confirmed: the record may or may not exist, and no manifest declares it`,
      steps: [
        { action: 'import' as const, address, id: null, reason: 'found' as const },
        { action: 'resolve_not_created' as const, address },
      ],
    })),
  ];
}

function planForget<T>(base: T, { id, missing_since: since }: ResourceEntry) {
  return {
    ...base,
    action: 'forget' as const,
    id,
    ...(since === undefined
      ? { reason: `removed from the manifests: ${id} stays on the platform as an orphan` }
      : {
          reason: 'removed from the manifests',
          notices: [`${id} has been missing from the platform since ${since}`],
        }),
  };
}

/** Warns that a record that was reported missing exists again. The record and its replacement may now serve the same purpose. */
function returnedWarning({ kind, id, address }: Orphan, { state }: PlanInput): PlanWarning {
  const holder = state.resources.get(address)?.id;
  const importStep = { action: 'import', address, id, reason: 'returned' } as const;
  return {
    address,
    message: `The missing ${kind} ${id} is back on the platform.`,
    next: [{ ...importStep, ...(holder !== undefined && { instead_of: holder }) }],
  };
}

function secretsOf(planned: readonly PlannedResource[], input: PlanInput): Record<string, string> {
  const found = new Map<string, string>();
  for (const { address, desired } of planned) {
    const spec = input.bindings.get(address)?.resource.spec;
    if (desired === undefined || spec === undefined) continue;
    for (const leaf of symbolicLeaves(spec)) {
      if (leaf instanceof Secret) found.set(leaf.name, input.fingerprints.of(leaf.reveal()));
    }
  }
  return Object.fromEntries([...found].sort(([a], [b]) => compareText(a, b)));
}
