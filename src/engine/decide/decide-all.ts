import type { Kind, Lookup, ShownRecord } from '../../kinds/kind.ts';
import { type Address, kindOf, type Resource, recordKey } from '../../manifests/resource.ts';
import type { Fingerprints } from '../../state/fingerprint.ts';
import type { State } from '../../state/state.ts';
import { hasReference, references, withReferences } from '../../values/value.ts';
import { kindNamed } from '../kind-named.ts';
import type { Observation } from '../observe/observation.ts';
import type { Observed } from '../observe/observed.ts';
import { writes } from '../plan/plan-document.ts';
import { type Binding, undeclaredHolders } from './bind.ts';
import type { Bound } from './bind-desired.ts';
import { decide } from './decide.ts';
import type { Decision, Facts } from './decision.ts';
import { disownedIn } from './disowned.ts';
import { leavesOf, ruleOf } from './field-rules.ts';
import { lookUp, missingSentence } from './lookups.ts';
import { missingRecords } from './missing-ids.ts';
import { naturalKeyOf } from './natural-key.ts';
import { ownersOf } from './referents.ts';

export interface Deciding extends Bound {
  readonly state: State;
  readonly observed: Observed;
  readonly kinds: ReadonlyMap<string, Kind>;
  readonly lookups: ReadonlyMap<string, Lookup>;
  /** Prepared for every secret of the resources and for what `textsToMask` gives. */
  readonly fingerprints: Fingerprints;
  /** What the platform did not apply is to be sent again. */
  readonly retryIgnored?: boolean;
  /** What could be decided before everything was observed. */
  readonly decided?: ReadonlyMap<Address, Decision>;
  /** What a command line needs to mean this workspace, such as ` -w staging`; nothing where there is only one. */
  readonly workspaceFlag?: string | undefined;
}

/** Decides resource by resource, each after all that it refers to. Pure. */
export function decideAll(ordered: readonly Resource[], input: Deciding): Map<Address, Decision> {
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
  const missingIds = missingRecords(input);
  const owners = ownersOf(input.state, input.bindings);
  const contenders = new Map<string, Address>();
  for (const [address, { natural_key: key }] of [...input.state.pending].sort(([a], [b]) =>
    a < b ? -1 : 1,
  )) {
    if (key !== undefined) contenders.set(recordKey(kindOf(address), key), address);
  }
  for (const resource of ordered) {
    const kind = kindNamed(input.kinds, resource.kind);
    const bound = input.bindings.get(resource.address) as Binding;
    const key = kind.naturalKey?.(resource.spec)?.key;
    const observation = observedOf(bound, { key, leftBehind, input });
    const shownId = idOf(observation);
    const binding = rebound(bound, shownId, { leftBehind, state: input.state });
    if (binding !== bound && shownId !== undefined) leftBehind.delete(recordKey(resource.kind, shownId));
    const holder = shownId === undefined ? undefined : holders.get(recordKey(resource.kind, shownId));
    const early = holder === resource.address ? input.decided?.get(resource.address) : undefined;
    if (early !== undefined) {
      decisions.set(resource.address, early);
      continue;
    }
    const { leaves, missing, gone } = resolved(resource, { kind, decisions, input });
    const others = namesakes(resource, binding.entry?.id);
    const namesakeHolder = others[0] && holders.get(recordKey(resource.kind, others[0].id));
    const contender = key === undefined ? undefined : contenders.get(recordKey(resource.kind, key));
    decisions.set(
      resource.address,
      decide({
        ...ownFacts(binding, input),
        observation,
        leaves,
        missing,
        gone,
        missingRecords: missingIds,
        owners,
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
export function ownFacts(
  binding: Binding,
  {
    kinds,
    fingerprints,
    state,
    allowReplace,
    retryIgnored = false,
    allowRecreate,
    workspaceFlag = '',
  }: Pick<
    Deciding,
    'kinds' | 'fingerprints' | 'state' | 'allowReplace' | 'retryIgnored' | 'allowRecreate' | 'workspaceFlag'
  >,
): Pick<
  Facts,
  | 'binding'
  | 'kind'
  | 'disowned'
  | 'mayReplace'
  | 'retryIgnored'
  | 'mayRecreate'
  | 'fingerprints'
  | 'salt'
  | 'workspaceFlag'
> {
  const { address, kind, mayReplace } = binding.resource;
  return {
    binding,
    kind: kindNamed(kinds, kind),
    disowned: disownedIn(state),
    mayReplace: mayReplace || allowReplace.has(address),
    retryIgnored,
    mayRecreate: allowRecreate.has('all') || allowRecreate.has(address),
    fingerprints,
    salt: state.salt,
    workspaceFlag,
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
  const kind = kindNamed(input.kinds, resource.kind);
  for (const address of leftBehind.values()) {
    const known = kindOf(address) === resource.kind ? input.state.resources.get(address) : undefined;
    if (known !== undefined && naturalKeyOf(kind, known) === key) {
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
  const previousAddress = id === undefined ? undefined : leftBehind.get(recordKey(binding.resource.kind, id));
  if (binding.entry !== undefined || previousAddress === undefined) return binding;
  return { ...binding, previousAddress, entry: state.resources.get(previousAddress) };
}

interface Resolving {
  readonly kind: Kind;
  readonly decisions: ReadonlyMap<Address, Decision>;
  readonly input: Deciding;
}

function resolved(
  resource: Resource,
  { kind, decisions, input }: Resolving,
): Pick<Facts, 'leaves' | 'missing' | 'gone'> {
  const gone = new Set<Address>();
  if (!hasReference(resource.spec)) return { leaves: leavesOf(kind, resource.spec), missing: [], gone };
  const missing = new Set<string>();
  for (const reference of references(resource.spec)) {
    const lookup = input.lookups.get(reference.kind);
    if (lookup === undefined) continue;
    if (lookUp(reference, input.observed.lookups) === undefined) {
      missing.add(missingSentence(lookup.addByHand(reference.target), reference, input.observed.lookups));
    }
  }
  const named = leavesOf(kind, resource.spec);
  const leaves = new Map(
    [...named].map(([path, value]) => [
      path,
      withReferences(
        value,
        (reference) =>
          lookUp(reference, input.observed.lookups) ??
          (input.bindings.has(reference.address)
            ? decisions.get(reference.address)?.id
            : // Left out of this run: what is remembered of it is all there is.
              input.state.resources.get(reference.address)?.id),
      ),
    ]),
  );
  // The id is known, so that it can be compared, but nothing is written with it.
  const isMissing = (address: Address): boolean =>
    input.bindings.has(address)
      ? decisions.get(address)?.planned.missing === true
      : input.state.resources.get(address)?.missing_since !== undefined;
  for (const [path, value] of leaves) {
    const isManual = ruleOf(kind, path).manual === true;
    for (const { address } of references(named.get(path) ?? null)) {
      if (!isMissing(address)) continue;
      gone.add(address);
      if (!isManual) missing.add(`Waits for ${address}, whose record is missing.`);
    }
    if (isManual) continue;
    for (const { address } of references(value)) {
      const action = decisions.get(address)?.planned.action;
      if (action !== undefined && !writes.has(action)) {
        missing.add(`${address} has no record yet: see there.`);
      } else if (input.declared.has(address) && !input.bindings.has(address)) {
        missing.add(`${address} has no record yet, and is left out of this run.`);
      }
    }
  }
  return { leaves, missing: [...missing].sort(), gone };
}

/** Finds the listed records that have a resource's natural key, except the one with the id that is remembered. */
function namesakesByKey(
  input: Deciding,
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
