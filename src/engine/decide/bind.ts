import { kindNamed, kinds } from '../../kinds/index.ts';
import { type Address, idKey, kindOf, type Resource } from '../../manifests/resource.ts';
import { compareText } from '../../problems/compare-text.ts';
import { managedRecords, type State } from '../../state/state.ts';
import type { Orphan, PendingCreate, ResourceEntry } from '../../state/state-document.ts';
import { keyIn } from './field-rules.ts';
import { refuseUnknown, type Selection, scopeOf } from './scope.ts';

/** A resource with its state entry, if any. The entry may have an earlier address of the resource. */
export interface Binding {
  readonly resource: Resource;
  readonly entry: ResourceEntry | undefined;
  /** The address of the state entry, if it differs. */
  readonly previousAddress: Address | undefined;
  readonly pending: PendingCreate | undefined;
  /** A released record with the same natural key or with this or an earlier address. Set only if nothing else identifies a record. */
  readonly released: Orphan | undefined;
  /** The id of the record to read, from the state entry, the manifest or the released record. */
  readonly id: string | undefined;
}

/**
 * Binds each resource to its state entry: by its address, by an earlier name, or by the id in its manifest if no other manifest claims
 * that entry. Each entry is bound only once, to the first address that claims it.
 * @param declared the addresses of all manifests.
 */
export function bindResources(
  resources: readonly Resource[],
  state: State,
  declared: ReadonlySet<Address>,
): ReadonlyMap<Address, Binding> {
  const holders = undeclaredHolders(state, declared);
  const releaseOf = releasesIn(state);
  const bindings = new Map<Address, Binding>();
  const claimed = new Set(declared);
  for (const resource of resources.toSorted((a, b) => compareText(a.address, b.address))) {
    const isKnown = (candidate: Address): boolean => state.resources.has(candidate) || state.pending.has(candidate);
    const earlier = resource.previousNames.map((name) => `${resource.kind}/${name}`);
    const address = isKnown(resource.address)
      ? resource.address
      : [...earlier, ...(resource.id === undefined ? [] : [holders.get(idKey(resource.kind, resource.id)) ?? ''])].find(
          (candidate) => isKnown(candidate) && !claimed.has(candidate),
        );
    if (address !== undefined) claimed.add(address);
    const entry = address === undefined ? undefined : state.resources.get(address);
    const released =
      address === undefined && resource.id === undefined
        ? releaseOf([resource.address, ...earlier.filter((each) => !declared.has(each))], {
            kind: resource.kind,
            key: kinds.get(resource.kind)?.naturalKey?.(resource.spec)?.key,
          })
        : undefined;
    bindings.set(resource.address, {
      resource,
      entry,
      previousAddress: address === resource.address ? undefined : address,
      pending: address === undefined ? undefined : state.pending.get(address),
      released,
      id: entry?.id ?? resource.id ?? released?.id,
    });
  }
  return bindings;
}

/**
 * Returns a function that finds the last released record with a natural key, or else the last released record of an address. The function
 * returns each record only once, and never a record that a person reported as deleted or a record with another natural key. A record that
 * was replaced or missing is found only by its natural key.
 */
function releasesIn({ orphans }: State) {
  const byAddress = new Map<Address, Orphan>();
  const byKey = new Map<string, Orphan>();
  for (const orphan of orphans) {
    if (orphan.closed?.because === 'deleted') continue;
    if (orphan.natural_key !== undefined) byKey.set(keyIn(orphan.kind, orphan.natural_key), orphan);
    const countsByAddress = orphan.reason !== 'replaced' && orphan.reason !== 'gone';
    if (countsByAddress && orphan.kind === kindOf(orphan.address)) byAddress.set(orphan.address, orphan);
  }
  const returned = new Set<Orphan>();
  return (
    addresses: readonly Address[],
    { kind, key }: { readonly kind: string; readonly key: string | undefined },
  ): Orphan | undefined => {
    const matches = (orphan: Orphan | undefined): orphan is Orphan =>
      orphan !== undefined &&
      !returned.has(orphan) &&
      (key === undefined || orphan.natural_key === undefined || orphan.natural_key === key);
    const sameKey = key === undefined ? undefined : byKey.get(keyIn(kind, key));
    const orphan = [sameKey, ...addresses.map((address) => byAddress.get(address))].find(matches);
    if (orphan !== undefined) returned.add(orphan);
    return orphan;
  };
}

/** Returns the addresses in the state that no manifest declares, by the kind and id of their record. */
export function undeclaredHolders(state: State, declared: ReadonlySet<Address>): ReadonlyMap<string, Address> {
  return new Map([...managedRecords(state)].filter(([, address]) => !declared.has(address)));
}

/** True if the state contains no values of the record, because it is not managed yet or its import is incomplete. */
export function isAdopting({ entry }: Binding): boolean {
  return entry === undefined || (entry.adopted === true && Object.keys(entry.recorded).length === 0);
}

/** The resources in the scope of a run, each with its state entry. */
export interface Bound {
  readonly bindings: ReadonlyMap<Address, Binding>;
  /** The addresses of all manifests. */
  readonly declared: ReadonlySet<Address>;
  /** The earlier addresses of all resources, from `previous_names`. */
  readonly previous: ReadonlySet<Address>;
  /** The addresses in the scope of the run; undefined for all. */
  readonly scope: ReadonlySet<Address> | undefined;
  readonly allowReplace: ReadonlySet<Address>;
  /** Addresses whose missing records may be created again, or `all`. */
  readonly allowRecreate: ReadonlySet<string>;
}

export interface BindingRequest {
  /** All resources that the manifests declare for the workspace. */
  readonly desired: readonly Resource[];
  readonly selection: Selection;
  /** Addresses whose missing records are created again, or `all`. */
  readonly allowRecreate: readonly string[];
  readonly allowReplace: readonly Address[];
  readonly state: State;
}

/** @throws UserError for an unknown address, or if the state contains a kind that only a newer version supports. */
export function bindDesired(request: BindingRequest): Bound {
  const { desired, state } = request;
  // Do not release the entries of a kind that only a newer version supports.
  for (const address of [...state.resources.keys(), ...state.pending.keys()]) kindNamed(kindOf(address));
  const declared = new Set(desired.map(({ address }) => address));
  const scope = scopeOf(request.selection, { resources: desired, state });
  refuseUnknown(request.allowReplace, declared, '--allow-replace');
  const named = request.allowRecreate.filter((each) => each !== 'all');
  refuseUnknown(named, declared, '--allow-recreate');
  const inScope = desired.filter(({ address }) => scope?.has(address) ?? true);
  return {
    bindings: bindResources(inScope, state, declared),
    declared,
    previous: new Set(desired.flatMap(({ kind, previousNames }) => previousNames.map((name) => `${kind}/${name}`))),
    scope,
    allowReplace: new Set(request.allowReplace),
    allowRecreate: new Set(request.allowRecreate),
  };
}
