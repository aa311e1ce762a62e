import { kindNamed } from '../../kinds/index.ts';
import { type Address, idKey, kindOf, type Resource } from '../../manifests/resource.ts';
import type { State } from '../../state/state.ts';
import { type Binding, undeclaredHolders } from './bind.ts';
import { decide } from './decide.ts';
import type { Deciding, Decision, OwnFacts, RunFacts } from './decision.ts';
import { keyIn, recordedKey } from './field-rules.ts';
import { contendersIn, knownRecords, namesakesIn } from './known-records.ts';
import type { Observation } from './observed.ts';
import { resolveReferences } from './resolve-references.ts';

/** Decides resource by resource, each after all that it refers to. Pure. */
export function decideAll(ordered: readonly Resource[], input: Deciding): Map<Address, Decision> {
  const decisions = new Map<Address, Decision>();
  const records = knownRecords(input);
  const { holders } = records;
  const claimed = new Set([...input.bindings.values()].map((binding) => binding.previousAddress));
  const leftBehind = new Map(
    [...undeclaredHolders(input.state, input.declared)].filter(([, address]) => !claimed.has(address)),
  );
  const isReleased = (address: Address): boolean =>
    !input.declared.has(address) && !claimed.has(address) && (input.scope?.has(address) ?? true);
  const namesakes = namesakesIn(input);
  const contenders = contendersIn(input);
  for (const resource of ordered) {
    const kind = kindNamed(resource.kind);
    const bound = input.bindings.get(resource.address) as Binding;
    const key = kind.naturalKey?.(resource.spec)?.key;
    const observation = observedOf(bound, { key, leftBehind, input });
    const shownId = idOf(observation);
    const binding = rebound(bound, shownId, { leftBehind, state: input.state });
    if (binding !== bound && shownId !== undefined) leftBehind.delete(idKey(resource.kind, shownId));
    const holder = shownId === undefined ? undefined : holders.get(idKey(resource.kind, shownId));
    const early = holder === resource.address ? input.decided?.get(resource.address) : undefined;
    if (early !== undefined) {
      decisions.set(resource.address, early);
      continue;
    }
    const { leaves, missing, gone } = resolveReferences(resource, { kind, decisions, input });
    const others = namesakes(resource, binding.entry?.id);
    const namesakeHolder = others[0] && holders.get(idKey(resource.kind, others[0].id));
    const contender = key === undefined ? undefined : contenders.get(keyIn(resource.kind, key));
    decisions.set(
      resource.address,
      decide({
        ...ownFacts(binding, input),
        observation,
        leaves,
        missing,
        gone,
        records,
        namesakes: others,
        namesakeHolder: namesakeHolder && !isReleased(namesakeHolder) ? namesakeHolder : undefined,
        contender: contender === binding.previousAddress ? undefined : contender,
        holder: holder === resource.address || holder === binding.previousAddress ? undefined : holder,
        candidates: input.observed.candidates.get(resource.address) ?? [],
        returned: input.observed.returned.filter(
          ({ kind, address }) =>
            kind === resource.kind && (address === resource.address || address === binding.previousAddress),
        ),
      }),
    );
  }
  return decisions;
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
  {
    key,
    leftBehind,
    input,
  }: { key: string | undefined; leftBehind: ReadonlyMap<string, Address>; input: Deciding },
): Observation | { readonly status: 'missing'; readonly id: string } {
  const observation = input.observed.records.get(resource.address) ?? { status: 'absent' as const };
  const isNew = entry === undefined && pending === undefined && resource.id === undefined;
  if (observation.status === 'shown' || key === undefined || !isNew) return observation;
  const kind = kindNamed(resource.kind);
  for (const address of leftBehind.values()) {
    const known = kindOf(address) === resource.kind ? input.state.resources.get(address) : undefined;
    if (known !== undefined && recordedKey(kind, known) === key) {
      return { status: 'missing', id: known.id };
    }
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
