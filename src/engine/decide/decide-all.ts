import { kindNamed } from '../../kinds/index.ts';
import { type Address, idKey, kindOf, type Resource } from '../../manifests/resource.ts';
import type { State } from '../../state/state.ts';
import { lazy } from '../../values/lazy.ts';
import { type Binding, undeclaredHolders } from './bind.ts';
import { decide } from './decide.ts';
import type { DecideInput, Decision, Facts, OwnFacts, RunFacts } from './decision.ts';
import { keyIn, recordedKey } from './field-rules.ts';
import { knownRecords, sameKeyIn, unknownCreatesByKey } from './known-records.ts';
import type { Observation } from './observed.ts';
import { resolveReferences } from './references.ts';

/** Decides the action for each resource, after the resources that it refers to. Pure. */
export function decideAll(ordered: readonly Resource[], input: DecideInput): Map<Address, Decision> {
  const decisions = new Map<Address, Decision>();
  const run = indexRun(input);
  for (const { address } of ordered) {
    const resource = findRecord(run, input.bindings.get(address) as Binding);
    const decided = resource.holder === address ? input.decided?.get(address) : undefined;
    decisions.set(address, decided ?? decide(factsOf(resource, run, decisions)));
  }
  return decisions;
}

type RunIndexes = ReturnType<typeof indexRun>;

/** Adds indexes of the state, the orphan list and the records that the run read. */
function indexRun(input: DecideInput) {
  const claimed = new Set([...input.bindings.values()].map((binding) => binding.previousAddress));
  return {
    ...input,
    records: knownRecords(input),
    sameKey: sameKeyIn(input.observed),
    concurrentCreates: unknownCreatesByKey(input),
    managedByKey: lazy(() => managedIdsByKey(input.state)),
    /** The addresses in the state that no manifest declares or claims, by the kind and id of their record. */
    undeclared: new Map(
      [...undeclaredHolders(input.state, input.declared)].filter(([, address]) => !claimed.has(address)),
    ),
    isReleased: (address: Address): boolean =>
      !input.declared.has(address) && !claimed.has(address) && (input.scope?.has(address) ?? true),
  };
}

/** Returns the ids of managed records, by kind and recorded natural key. */
function managedIdsByKey({ resources }: State): ReadonlyMap<string, string> {
  const ids = new Map<string, string>();
  for (const [address, entry] of resources) {
    const kind = kindNamed(kindOf(address));
    const key = recordedKey(kind, entry);
    if (key !== undefined) ids.set(keyIn(kind.name, key), entry.id);
  }
  return ids;
}

interface BoundRecord {
  readonly binding: Binding;
  readonly key: string | undefined;
  readonly observation: ReturnType<typeof observedOf>;
  /** The address that manages the record, according to the state. */
  readonly holder: Address | undefined;
}

/** Finds the record of a resource. The resource may continue the state entry of an undeclared address. */
function findRecord(run: RunIndexes, unresolved: Binding): BoundRecord {
  const { kind, spec } = unresolved.resource;
  const key = kindNamed(kind).naturalKey?.(spec)?.key;
  const observation = observedOf(unresolved, key, run);
  const id = idOf(observation);
  const binding = bindUndeclaredEntry(unresolved, id, run);
  if (binding !== unresolved && id !== undefined) run.undeclared.delete(idKey(kind, id));
  return { binding, key, observation, holder: id && run.records.holders.get(idKey(kind, id)) };
}

function factsOf(
  { binding, key, observation, holder }: BoundRecord,
  run: RunIndexes,
  decisions: ReadonlyMap<Address, Decision>,
): Facts {
  const { resource, previousAddress, entry } = binding;
  const { address, kind } = resource;
  const isSameResource = (each: Address | undefined): boolean => each === address || each === previousAddress;
  const sameKey = run.sameKey(kind, key).filter((record) => record.id !== entry?.id);
  const sameKeyHolder = sameKey[0] && run.records.holders.get(idKey(kind, sameKey[0].id));
  const concurrentCreate = key === undefined ? undefined : run.concurrentCreates.get(keyIn(kind, key));
  return {
    ...ownFacts(binding, run),
    ...resolveReferences(resource, decisions, run),
    observation,
    records: run.records,
    sameKey,
    sameKeyHolder: sameKeyHolder && !run.isReleased(sameKeyHolder) ? sameKeyHolder : undefined,
    concurrentCreate: concurrentCreate === previousAddress ? undefined : concurrentCreate,
    holder: isSameResource(holder) ? undefined : holder,
    candidates: run.observed.candidates.get(address) ?? [],
    returned: run.observed.returned.filter((orphan) => orphan.kind === kind && isSameResource(orphan.address)),
  };
}

/** Returns the facts that do not depend on reads. */
export function ownFacts(binding: Binding, run: RunFacts): OwnFacts {
  const { address, kind, mayReplace } = binding.resource;
  return {
    binding,
    kind: kindNamed(kind),
    mayReplace: mayReplace || run.allowReplace.has(address),
    retryIgnored: run.retryIgnored ?? false,
    mayRecreate: run.allowRecreate.has('all') || run.allowRecreate.has(address),
    fingerprints: run.fingerprints,
    salt: run.state.salt,
  };
}

/**
 * Returns the observation of a resource. If no list contains its record, but the state has a record with the same natural key at another
 * address, that record counts as missing, because a second record must not be created.
 */
function observedOf(
  { resource, entry, pending }: Binding,
  key: BoundRecord['key'],
  { managedByKey, observed }: RunIndexes,
): Observation | { readonly status: 'missing'; readonly id: string } {
  const observation = observed.records.get(resource.address) ?? { status: 'absent' as const };
  const isNew = entry === undefined && pending === undefined && resource.id === undefined;
  if (observation.status === 'shown' || key === undefined || !isNew) return observation;
  const id = managedByKey().get(keyIn(resource.kind, key));
  return id === undefined ? observation : { status: 'missing', id };
}

function idOf(observation: ReturnType<typeof observedOf>): string | undefined {
  if (observation.status === 'shown') return observation.record.id;
  return 'id' in observation ? observation.id : undefined;
}

/**
 * Binds the resource to the state entry of an undeclared address if it has the same record, which was found by its natural key. An address
 * with an unknown create cannot take over another entry, so its record must be released first.
 */
function bindUndeclaredEntry(
  binding: Binding,
  id: string | undefined,
  { undeclared, state }: { undeclared: ReadonlyMap<string, Address>; state: State },
): Binding {
  const previousAddress = id === undefined ? undefined : undeclared.get(idKey(binding.resource.kind, id));
  const isKnown = binding.entry !== undefined || binding.pending !== undefined;
  if (isKnown || previousAddress === undefined) return binding;
  return { ...binding, previousAddress, entry: state.resources.get(previousAddress) };
}
