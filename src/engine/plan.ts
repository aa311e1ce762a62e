import type { Kind, Lookup, ShownRecord } from '../kinds/kind.ts';
import type { Address, Resource } from '../manifests/resource.ts';
import type { Guards } from '../project/project.ts';
import type { ResourceEntry } from '../state/document.ts';
import type { Fingerprints } from '../state/fingerprint.ts';
import type { State } from '../state/state.ts';
import type { Leaves } from '../values/path.ts';
import { references, Secret, specials, withReferences } from '../values/value.ts';
import { type Binding, kindOf, recordKey, undeclaredHolders } from './bind.ts';
import { decide } from './decide.ts';
import type { Decision } from './decision.ts';
import { leavesOf, ruleOf } from './field-rules.ts';
import { trippedGuards } from './guards.ts';
import { kindNamed } from './kind-named.ts';
import { lookUp, missingSentence, refuseDoubledNames } from './lookups.ts';
import type { Observed } from './observe.ts';
import { dependenciesOf, inDependencyOrder } from './order.ts';
import {
  type Action,
  actions,
  PLAN_FORMAT_VERSION,
  type PlanDocument,
  type PlannedResource,
  type PlanWarning,
  writes,
} from './plan-document.ts';

export interface PlanInput {
  /** Of everything that the manifests declare and that is in scope. */
  readonly bindings: ReadonlyMap<Address, Binding>;
  /** Everything that the manifests declare. */
  readonly declared: ReadonlySet<Address>;
  /** The addresses that may be planned; undefined for all. */
  readonly scope: ReadonlySet<Address> | undefined;
  readonly state: State;
  readonly observed: Observed;
  readonly kinds: ReadonlyMap<string, Kind>;
  readonly lookups: ReadonlyMap<string, Lookup>;
  /** Prepared for every secret of the resources and for what `textsToMask` gives. */
  readonly fingerprints: Fingerprints;
  readonly workspace: { readonly name: string; readonly id: string; readonly baseUrl: string };
  /** Whether recorded records were read. */
  readonly refreshed: boolean;
  readonly allowReplace: ReadonlySet<Address>;
  readonly guards: Guards;
  readonly version: string;
}

/** The plan as data, and what an apply needs beside it. */
export interface Plan {
  readonly document: PlanDocument;
  /** State entries of resources that need no write: adoptions and bookkeeping. */
  readonly settled: ReadonlyMap<Address, ResourceEntry>;
  readonly observed: Observed;
}

/**
 * What an apply would do, and why. A pure function: the same input, in any order, gives the same plan.
 * @throws UserError when a reference names several records.
 */
export function makePlan(input: PlanInput): Plan {
  const resources = [...input.bindings.values()].map((binding) => binding.resource);
  refuseDoubledNames(resources, input.observed.lookups);
  const dependencies = new Map(
    resources.map((resource) => [resource.address, dependenciesOf(resource, input.declared)]),
  );
  const decisions = decideAll(inDependencyOrder(resources, dependencies), input);
  const planned = [...decisions.values()].map(({ planned }) => ({
    ...planned,
    depends_on: [...(dependencies.get(planned.address) ?? [])],
  }));
  const leaving = undeclared(input, planned);
  const all = [...planned.map((each) => afterRelease(each, leaving)), ...leaving].sort(byAddress);
  const warnings = [...decisions.values()]
    .flatMap(({ planned, warnings }) =>
      warnings.map((message): PlanWarning => ({ address: planned.address, message })),
    )
    .sort((a, b) => compareText(`${a.address} ${a.message}`, `${b.address} ${b.message}`));

  return {
    document: {
      format_version: PLAN_FORMAT_VERSION,
      voxform_version: input.version,
      workspace: input.workspace.name,
      workspace_id: input.workspace.id,
      base_url: input.workspace.baseUrl,
      state: { lineage: input.state.lineage, serial: input.state.serial, salt: input.state.salt },
      refreshed: input.refreshed,
      summary: summaryOf(all),
      secrets: secretsOf(all, input),
      resources: all,
      guards: trippedGuards(all, {
        guards: input.guards,
        kinds: input.kinds,
        observed: input.observed,
        managed: input.state.resources.size,
      }),
      warnings,
    },
    settled: new Map(
      [...decisions].flatMap(([address, { settled }]) => (settled === undefined ? [] : [[address, settled]])),
    ),
    observed: input.observed,
  };
}

/** A record that passes from an address that leaves to another is released first: else it would end on the orphan list. */
function afterRelease(planned: PlannedResource, leaving: readonly PlannedResource[]): PlannedResource {
  const holder =
    planned.adopted && leaving.find(({ kind, id }) => kind === planned.kind && id === planned.id);
  if (!holder) return planned;
  return { ...planned, depends_on: [...planned.depends_on, holder.address].sort() };
}

function decideAll(ordered: readonly Resource[], input: PlanInput): Map<Address, Decision> {
  const decisions = new Map<Address, Decision>();
  const holders = new Map(
    [...input.state.resources].map(([address, entry]) => [recordKey(kindOf(address), entry.id), address]),
  );
  const claimed = new Set([...input.bindings.values()].map((binding) => binding.previousAddress));
  const leftBehind = new Map(
    [...undeclaredHolders(input.state, input.declared)].filter(([, address]) => !claimed.has(address)),
  );
  const isReleased = (address: Address): boolean =>
    !input.declared.has(address) && !claimed.has(address) && (input.scope?.has(address) ?? true);
  const namesakes = namesakesByKey(input);
  const contenders = new Map<string, Address>();
  for (const [address, { natural_key: key }] of [...input.state.pending].sort(byKey)) {
    if (key !== undefined) contenders.set(recordKey(kindOf(address), key), address);
  }
  for (const resource of ordered) {
    const kind = kindNamed(input.kinds, resource.kind);
    const observation = input.observed.records.get(resource.address) ?? { status: 'absent' as const };
    const bound = input.bindings.get(resource.address) as Binding;
    const shownId = observation.status === 'shown' ? observation.record.id : undefined;
    const binding = rebound(bound, shownId, { leftBehind, state: input.state });
    const holder = shownId === undefined ? undefined : holders.get(recordKey(resource.kind, shownId));
    const { leaves, missing } = resolved(resource, { kind, decisions, input });
    const others = namesakes(resource, binding.entry?.id);
    const namesakeHolder = others[0] && holders.get(recordKey(resource.kind, others[0].id));
    const key = kind.naturalKey?.(resource.spec)?.key;
    const contender = key === undefined ? undefined : contenders.get(recordKey(resource.kind, key));
    decisions.set(
      resource.address,
      decide({
        binding,
        kind,
        observation,
        leaves,
        missing,
        namesakes: others,
        namesakeHolder: namesakeHolder && !isReleased(namesakeHolder) ? namesakeHolder : undefined,
        contender: contender === binding.previousAddress ? undefined : contender,
        holder: holder === resource.address || holder === binding.previousAddress ? undefined : holder,
        candidates: input.observed.candidates.get(resource.address) ?? [],
        mayReplace: resource.mayReplace || input.allowReplace.has(resource.address),
        fingerprints: input.fingerprints,
        salt: input.state.salt,
      }),
    );
  }
  return decisions;
}

/** A record found by its natural key may be one that the state knows under an address that nothing declares any more. */
function rebound(
  binding: Binding,
  id: string | undefined,
  { leftBehind, state }: { leftBehind: ReadonlyMap<string, Address>; state: State },
): Binding {
  const previousAddress = id === undefined ? undefined : leftBehind.get(recordKey(binding.resource.kind, id));
  if (binding.entry !== undefined || previousAddress === undefined) return binding;
  return { ...binding, previousAddress, entry: state.resources.get(previousAddress) };
}

interface Resolving {
  readonly kind: Kind;
  readonly decisions: ReadonlyMap<Address, Decision>;
  readonly input: PlanInput;
}

function resolved(
  resource: Resource,
  { kind, decisions, input }: Resolving,
): { leaves: Leaves; missing: readonly string[] } {
  const missing = new Set<string>();
  for (const reference of references(resource.spec)) {
    const lookup = input.lookups.get(reference.kind);
    if (lookup === undefined) continue;
    if (lookUp(reference, input.observed.lookups) === undefined) {
      missing.add(missingSentence(lookup.addByHand(reference.target), reference, input.observed.lookups));
    }
  }
  const leaves = new Map(
    [...leavesOf(kind, resource.spec)].map(([path, value]) => [
      path,
      withReferences(
        value,
        (reference) => lookUp(reference, input.observed.lookups) ?? decisions.get(reference.address)?.id,
      ),
    ]),
  );
  for (const [path, value] of leaves) {
    if (ruleOf(kind, path).manual) continue;
    for (const { address } of references(value)) {
      const action = decisions.get(address)?.planned.action;
      if (action !== undefined && !writes.has(action))
        missing.add(`${address} has no record yet: see there.`);
    }
  }
  return { leaves, missing: [...missing].sort() };
}

/** Finds the listed records that have a resource's natural key, except the one with the id that is remembered. */
function namesakesByKey(
  input: PlanInput,
): (resource: Resource, id: string | undefined) => readonly ShownRecord[] {
  const indexes = new Map<string, ReadonlyMap<string, readonly ShownRecord[]>>();
  for (const [name, records] of input.observed.lists) {
    const keyOf = kindNamed(input.kinds, name).recordKey;
    if (keyOf !== undefined) indexes.set(name, Map.groupBy(records, keyOf));
  }
  return (resource, id) => {
    const key = kindNamed(input.kinds, resource.kind).naturalKey?.(resource.spec)?.key;
    const records = key === undefined ? undefined : indexes.get(resource.kind)?.get(key);
    return (records ?? []).filter((record) => record.id !== id);
  };
}

/** What the state knows and no manifest declares: to be forgotten, or a create that is still open. */
function undeclared(input: PlanInput, planned: readonly PlannedResource[]): PlannedResource[] {
  const taken = new Set(
    planned.flatMap(({ address, previous_address }) => [address, previous_address ?? address]),
  );
  const isOpen = (address: Address): boolean =>
    !input.declared.has(address) && !taken.has(address) && (input.scope?.has(address) ?? true);
  const base = (address: Address) => ({
    address,
    kind: kindOf(address),
    source: null,
    changes: [],
    depends_on: [],
  });
  const forgotten = [...input.state.resources].filter(
    ([address]) => isOpen(address) && !input.state.pending.has(address),
  );
  const pending = [...input.state.pending].filter(([address]) => isOpen(address));
  return [
    ...forgotten.map(([address, entry]) => ({
      ...base(address),
      action: 'forget' as const,
      id: entry.id,
      reason: `no manifest declares it any more: ${entry.id} stays on the platform, and goes on the orphan list`,
    })),
    ...pending.map(([address, { since }]) => ({
      ...base(address),
      action: 'unknown' as const,
      id: input.state.resources.get(address)?.id ?? null,
      reason: `a create sent at ${since} had no answer, so the record may or may not exist; no manifest declares it any more`,
      steps: [
        `If you find it in the dashboard: voxform import ${address} ID`,
        `If it is not there: voxform state resolve ${address} --not-created`,
      ],
    })),
  ];
}

export function summaryOf(planned: readonly PlannedResource[]): PlanDocument['summary'] {
  const summary = Object.fromEntries(actions.map((action) => [action, 0])) as Record<Action, number>;
  for (const { action } of planned) summary[action] += 1;
  return summary;
}

function secretsOf(planned: readonly PlannedResource[], input: PlanInput): Record<string, string> {
  const found = new Map<string, string>();
  for (const { address, desired } of planned) {
    const spec = input.bindings.get(address)?.resource.spec;
    if (desired === undefined || spec === undefined) continue;
    for (const special of specials(spec)) {
      if (special instanceof Secret) found.set(special.name, input.fingerprints.of(special.reveal()));
    }
  }
  return Object.fromEntries([...found].sort(([a], [b]) => compareText(a, b)));
}

function byAddress(a: PlannedResource, b: PlannedResource): number {
  return compareText(a.address, b.address);
}

function byKey(a: readonly [string, unknown], b: readonly [string, unknown]): number {
  return compareText(a[0], b[0]);
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
