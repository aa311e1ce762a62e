import { dependenciesOf } from '../../engine/decide/order.ts';
import { matching } from '../../engine/decide/scope.ts';
import type { Address, Resource } from '../../manifests/resource.ts';
import { misuse } from '../../problems/user-error.ts';
import type { State } from '../../state/state.ts';

/** Globs of addresses, as in `skip`: what matches none of `include` is left out where there are any, and what matches one of `exclude` always. */
export interface AddressGlobs {
  readonly include: readonly string[];
  readonly exclude: readonly string[];
}

/**
 * The resources that the globs leave, in their order.
 * @throws UserError for a glob that matches nothing, and where nothing is left.
 */
export function selectedBy(resources: readonly Resource[], { include, exclude }: AddressGlobs): Resource[] {
  const addresses = resources.map(({ address }) => address);
  const included = new Set(include.flatMap((glob) => matching(glob, addresses, '--include')));
  const excluded = new Set(exclude.flatMap((glob) => matching(glob, addresses, '--exclude')));
  const selected = resources.filter(
    ({ address }) => (include.length === 0 || included.has(address)) && !excluded.has(address),
  );
  if (selected.length === 0) throw misuse('--include and --exclude leave nothing to migrate');
  return selected;
}

/** What selected resources refer to and what neither goes with them nor is there already, each with those that refer to it. */
export function leftOutReferences(
  resources: readonly Resource[],
  selected: readonly Resource[],
  state: Pick<State, 'resources'>,
): ReadonlyMap<Address, readonly Address[]> {
  const goes = new Set(selected.map(({ address }) => address));
  const others = new Set(
    resources.flatMap(({ address }) => (goes.has(address) || state.resources.has(address) ? [] : [address])),
  );
  const referring = new Map<Address, Address[]>();
  for (const resource of selected) {
    for (const address of dependenciesOf(resource, others)) {
      referring.set(address, [...(referring.get(address) ?? []), resource.address]);
    }
  }
  return new Map([...referring].sort(([a], [b]) => (a < b ? -1 : 1)));
}
