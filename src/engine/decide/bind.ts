import { kindNamed, kinds } from '../../kinds/index.ts';
import { type Address, idKey, kindOf, type Resource } from '../../manifests/resource.ts';
import { compareText } from '../../problems/compare-text.ts';
import type { State } from '../../state/state.ts';
import type { Orphan, PendingCreate, ResourceEntry } from '../../state/state-document.ts';
import { keyIn } from './field-rules.ts';
import { refuseUnknown, type Selection, scopeOf } from './scope.ts';

/** What a resource's past is: the state's memory of it, under this address or an earlier one. */
export interface Binding {
  readonly resource: Resource;
  readonly entry: ResourceEntry | undefined;
  /** The address that the state knows it by, where that is another one. */
  readonly previousAddress: Address | undefined;
  readonly pending: PendingCreate | undefined;
  /** The record that this or an earlier address had before it was released, or one released with its natural key, where nothing else leads to one. */
  readonly released: Orphan | undefined;
  /** The record to read: recorded, named by the manifest, or released before. */
  readonly id: string | undefined;
}

/**
 * Binds every resource to its memory: by its own address, by an earlier one that it names, or by the record that its
 * manifest names, when no other manifest claims that. No past is bound twice: the first by address has it. `declared` are the addresses of all manifests, these and others.
 */
export function bindResources(
  resources: readonly Resource[],
  { state, declared }: { readonly state: State; readonly declared: ReadonlySet<Address> },
): ReadonlyMap<Address, Binding> {
  const holders = undeclaredHolders(state, declared);
  const releaseOf = releasesIn(state);
  const bindings = new Map<Address, Binding>();
  const taken = new Set(declared);
  for (const resource of resources.toSorted((a, b) => compareText(a.address, b.address))) {
    const isKnown = (candidate: Address): boolean =>
      state.resources.has(candidate) || state.pending.has(candidate);
    const earlier = resource.previousNames.map((name) => `${resource.kind}/${name}`);
    const address = isKnown(resource.address)
      ? resource.address
      : [
          ...earlier,
          ...(resource.id === undefined ? [] : [holders.get(idKey(resource.kind, resource.id)) ?? '']),
        ].find((candidate) => isKnown(candidate) && !taken.has(candidate));
    if (address !== undefined) taken.add(address);
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
 * Finds the last record that was released with a natural key or else at one of the addresses, the first that has one; each record
 * once. One of the natural key may still be there, however it was released, unless somebody said that it was deleted; one of another
 * natural key is not meant. By an address alone, what another took the place of is not wanted back.
 */
function releasesIn({ orphans }: State) {
  const byAddress = new Map<Address, Orphan>();
  const byKey = new Map<string, Orphan>();
  for (const orphan of orphans) {
    if (orphan.closed?.because === 'deleted') continue;
    if (orphan.natural_key !== undefined) byKey.set(keyIn(orphan.kind, orphan.natural_key), orphan);
    const isWanted = orphan.reason !== 'replaced' && orphan.reason !== 'gone';
    if (isWanted && orphan.kind === kindOf(orphan.address)) byAddress.set(orphan.address, orphan);
  }
  const taken = new Set<Orphan>();
  return (
    addresses: readonly Address[],
    { kind, key }: { readonly kind: string; readonly key: string | undefined },
  ): Orphan | undefined => {
    const isMeant = (orphan: Orphan | undefined): orphan is Orphan =>
      orphan !== undefined &&
      !taken.has(orphan) &&
      (key === undefined || orphan.natural_key === undefined || orphan.natural_key === key);
    const alike = key === undefined ? undefined : byKey.get(keyIn(kind, key));
    const found = [alike, ...addresses.map((address) => byAddress.get(address))].find(isMeant);
    if (found !== undefined) taken.add(found);
    return found;
  };
}

/** Addresses in the state that no manifest declares, by the record they hold. */
export function undeclaredHolders(
  state: State,
  declared: ReadonlySet<Address>,
): ReadonlyMap<string, Address> {
  const holders = new Map<string, Address>();
  for (const [address, entry] of state.resources) {
    if (!declared.has(address)) holders.set(idKey(kindOf(address), entry.id), address);
  }
  return holders;
}

/** True while nothing is recorded of a record that exists. */
export function isAdopting({ entry }: Binding): boolean {
  return entry === undefined || (entry.adopted === true && Object.keys(entry.recorded).length === 0);
}

/** What a run is about: the resources in its scope, each with what the state remembers of it. */
export interface Bound {
  readonly bindings: ReadonlyMap<Address, Binding>;
  /** Everything that the manifests declare. */
  readonly declared: ReadonlySet<Address>;
  /** The addresses that they had before, as their manifests say. */
  readonly previous: ReadonlySet<Address>;
  /** The addresses that may be planned; undefined for all. */
  readonly scope: ReadonlySet<Address> | undefined;
  readonly allowReplace: ReadonlySet<Address>;
  /** Addresses, or `all`. */
  readonly allowRecreate: ReadonlySet<string>;
}

export interface BindingRequest {
  /** Everything that the manifests declare for the workspace. */
  readonly desired: readonly Resource[];
  readonly selection: Selection;
  /** Addresses whose missing records are created again, or `all`. */
  readonly allowRecreate: readonly string[];
  readonly allowReplace: readonly Address[];
  readonly state: State;
}

/** @throws UserError for an address that is given and unknown, and for a kind that only a newer version knows. */
export function bindDesired(request: BindingRequest): Bound {
  const { desired, state } = request;
  // What a newer voxform keeps there must not be forgotten by this one.
  for (const address of [...state.resources.keys(), ...state.pending.keys()]) kindNamed(kindOf(address));
  const declared = new Set(desired.map(({ address }) => address));
  const scope = scopeOf(request.selection, { resources: desired, state });
  refuseUnknown(request.allowReplace, { known: declared, option: '--allow-replace' });
  const named = request.allowRecreate.filter((each) => each !== 'all');
  refuseUnknown(named, { known: declared, option: '--allow-recreate' });
  const inScope = desired.filter(({ address }) => scope?.has(address) ?? true);
  return {
    bindings: bindResources(inScope, { state, declared }),
    declared,
    previous: new Set(
      desired.flatMap(({ kind, previousNames }) => previousNames.map((name) => `${kind}/${name}`)),
    ),
    scope,
    allowReplace: new Set(request.allowReplace),
    allowRecreate: new Set(request.allowRecreate),
  };
}
