import type { Address, Resource } from '../../manifests/resource.ts';
import { references } from '../../values/value.ts';

export function dependenciesOf(resource: Resource, declared: ReadonlySet<Address>): Address[] {
  const found = new Set<Address>();
  for (const reference of references(resource.spec)) {
    if (declared.has(reference.address) && reference.address !== resource.address) found.add(reference.address);
  }
  return [...found].sort();
}

/** Sorts resources by dependency, then by address. Manifests contain no cycles. */
export function inDependencyOrder<T extends { readonly address: Address }>(
  resources: readonly T[],
  dependencies: ReadonlyMap<Address, readonly Address[]>,
): T[] {
  const byAddress = new Map(resources.map((resource) => [resource.address, resource]));
  const ordered: T[] = [];
  const placed = new Set<Address>();
  for (const start of [...byAddress.keys()].sort()) {
    const stack = [start];
    while (stack.length > 0) {
      const address = stack.at(-1) as Address;
      const open = (dependencies.get(address) ?? []).filter((each) => byAddress.has(each) && !placed.has(each));
      if (open.length > 0 && !placed.has(address)) stack.push(...open.reverse());
      else {
        stack.pop();
        const resource = byAddress.get(address);
        if (resource !== undefined && !placed.has(address)) ordered.push(resource);
        placed.add(address);
      }
    }
  }
  return ordered;
}
