import { kindNamed } from '../../kinds/index.ts';
import { type Address, idKey, kindOf, type Resource } from '../../manifests/resource.ts';
import type { State } from '../../state/state.ts';
import { type Binding, undeclaredHolders } from './bind.ts';
import { decide } from './decide.ts';
import type { Deciding, Decision, Facts, OwnFacts, RunFacts } from './decision.ts';
import { keyIn, recordedKey } from './field-rules.ts';
import { contendersIn, knownRecords, namesakesIn } from './known-records.ts';
import type { Observation } from './observed.ts';
import { resolveReferences } from './resolve-references.ts';

/** Decides resource by resource, each after all that it refers to. Pure. */
export function decideAll(ordered: readonly Resource[], input: Deciding): Map<Address, Decision> {
  const decisions = new Map<Address, Decision>();
  const run = indexed(input);
  for (const { address } of ordered) {
    const sighted = sightedIn(run, input.bindings.get(address) as Binding);
    const early = sighted.holder === address ? input.decided?.get(address) : undefined;
    decisions.set(address, early ?? decide(factsOf(sighted, run, decisions)));
  }
  return decisions;
}

type Indexed = ReturnType<typeof indexed>;

/** What the state, the orphan list and the reads of a run have, by what it is looked for by. */
function indexed(input: Deciding) {
  const claimed = new Set([...input.bindings.values()].map((binding) => binding.previousAddress));
  return {
    ...input,
    records: knownRecords(input),
    namesakes: namesakesIn(input),
    contenders: contendersIn(input),
    /** Records at addresses that nothing declares or claims any more. */
    leftBehind: new Map(
      [...undeclaredHolders(input.state, input.declared)].filter(([, address]) => !claimed.has(address)),
    ),
    isReleased: (address: Address): boolean =>
      !input.declared.has(address) && !claimed.has(address) && (input.scope?.has(address) ?? true),
  };
}

interface Sighted {
  readonly binding: Binding;
  readonly key: string | undefined;
  readonly observation: ReturnType<typeof observedOf>;
  /** The address that has the record in the state. */
  readonly holder: Address | undefined;
}

/** A resource with its record, which it takes over where that is one left behind. */
function sightedIn(run: Indexed, bound: Binding): Sighted {
  const { kind, spec } = bound.resource;
  const key = kindNamed(kind).naturalKey?.(spec)?.key;
  const observation = observedOf(bound, key, run);
  const id = idOf(observation);
  const binding = rebound(bound, id, run);
  if (binding !== bound && id !== undefined) run.leftBehind.delete(idKey(kind, id));
  return { binding, key, observation, holder: id && run.records.holders.get(idKey(kind, id)) };
}

function factsOf(
  { binding, key, observation, holder }: Sighted,
  run: Indexed,
  decisions: ReadonlyMap<Address, Decision>,
): Facts {
  const { resource, previousAddress, entry } = binding;
  const { address, kind } = resource;
  const isOwn = (each: Address | undefined): boolean => each === address || each === previousAddress;
  const namesakes = run.namesakes(resource, entry?.id);
  const namesakeHolder = namesakes[0] && run.records.holders.get(idKey(kind, namesakes[0].id));
  const contender = key === undefined ? undefined : run.contenders.get(keyIn(kind, key));
  return {
    ...ownFacts(binding, run),
    ...resolveReferences(resource, decisions, run),
    observation,
    records: run.records,
    namesakes,
    namesakeHolder: namesakeHolder && !run.isReleased(namesakeHolder) ? namesakeHolder : undefined,
    contender: contender === previousAddress ? undefined : contender,
    holder: isOwn(holder) ? undefined : holder,
    candidates: run.observed.candidates.get(address) ?? [],
    returned: run.observed.returned.filter((orphan) => orphan.kind === kind && isOwn(orphan.address)),
  };
}

/** What a decision takes from the resource and the run alone, whatever was observed. */
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
 * A record that no list shows may be one that the state knows by its natural key, under an address that nothing declares any more:
 * then it is missing, and another must not be made.
 */
function observedOf(
  { resource, entry, pending }: Binding,
  key: Sighted['key'],
  { leftBehind, observed, state }: Indexed,
): Observation | { readonly status: 'missing'; readonly id: string } {
  const observation = observed.records.get(resource.address) ?? { status: 'absent' as const };
  const isNew = entry === undefined && pending === undefined && resource.id === undefined;
  if (observation.status === 'shown' || key === undefined || !isNew) return observation;
  const kind = kindNamed(resource.kind);
  for (const address of leftBehind.values()) {
    const known = kindOf(address) === resource.kind ? state.resources.get(address) : undefined;
    if (known !== undefined && recordedKey(kind, known) === key) return { status: 'missing', id: known.id };
  }
  return observation;
}

function idOf(observation: ReturnType<typeof observedOf>): string | undefined {
  if (observation.status === 'shown') return observation.record.id;
  return 'id' in observation ? observation.id : undefined;
}

/** A record found by its natural key may be one that the state knows under an address that nothing declares any more. */
function rebound(
  binding: Binding,
  id: string | undefined,
  { leftBehind, state }: { leftBehind: ReadonlyMap<string, Address>; state: State },
): Binding {
  const previousAddress = id === undefined ? undefined : leftBehind.get(idKey(binding.resource.kind, id));
  if (binding.entry !== undefined || previousAddress === undefined) return binding;
  return { ...binding, previousAddress, entry: state.resources.get(previousAddress) };
}
