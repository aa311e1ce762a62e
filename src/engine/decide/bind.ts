import { type Address, kindOf, type Resource, recordKey } from '../../manifests/resource.ts';
import { compareText } from '../../problems/compare-text.ts';
import type { Orphan, PendingCreate, ResourceEntry } from '../../state/document.ts';
import type { State } from '../../state/state.ts';

/** What a resource's past is: the state's memory of it, under this address or an earlier one. */
export interface Binding {
  readonly resource: Resource;
  readonly entry: ResourceEntry | undefined;
  /** The address that the state knows it by, where that is another one. */
  readonly previousAddress: Address | undefined;
  readonly pending: PendingCreate | undefined;
  /** The record that the address had before it was released, where nothing else leads to one. */
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
  const releases = releasesByAddress(state);
  const bindings = new Map<Address, Binding>();
  const taken = new Set(declared);
  for (const resource of resources.toSorted(byAddress)) {
    const isKnown = (candidate: Address): boolean =>
      state.resources.has(candidate) || state.pending.has(candidate);
    const address = isKnown(resource.address)
      ? resource.address
      : [
          ...resource.previousNames.map((name) => `${resource.kind}/${name}`),
          ...(resource.id === undefined ? [] : [holders.get(recordKey(resource.kind, resource.id)) ?? '']),
        ].find((candidate) => isKnown(candidate) && !taken.has(candidate));
    if (address !== undefined) taken.add(address);
    const entry = address === undefined ? undefined : state.resources.get(address);
    const released =
      address === undefined && resource.id === undefined ? releases.get(resource.address) : undefined;
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

/** A record that another took the place of is not wanted back; any other that the address had is, the last one released. */
function releasesByAddress({ orphans }: State): ReadonlyMap<Address, Orphan> {
  const releases = new Map<Address, Orphan>();
  for (const orphan of orphans) {
    const isWanted =
      orphan.reason !== 'replaced' && orphan.reason !== 'gone' && orphan.closed?.because !== 'deleted';
    if (isWanted && orphan.kind === kindOf(orphan.address)) releases.set(orphan.address, orphan);
  }
  return releases;
}

/** Addresses in the state that no manifest declares, by the record they hold. */
export function undeclaredHolders(
  state: State,
  declared: ReadonlySet<Address>,
): ReadonlyMap<string, Address> {
  const holders = new Map<string, Address>();
  for (const [address, entry] of state.resources) {
    if (!declared.has(address)) holders.set(recordKey(kindOf(address), entry.id), address);
  }
  return holders;
}

function byAddress(a: Resource, b: Resource): number {
  return compareText(a.address, b.address);
}
