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
  const visited = new Set<Address>();
  for (const start of [...byAddress.keys()].sort()) {
    const stack = [start];
    while (stack.length > 0) {
      const address = stack.at(-1) as Address;
      const pending = (dependencies.get(address) ?? []).filter((each) => byAddress.has(each) && !visited.has(each));
      if (pending.length > 0 && !visited.has(address)) stack.push(...pending.reverse());
      else {
        stack.pop();
        const resource = byAddress.get(address);
        if (resource !== undefined && !visited.has(address)) ordered.push(resource);
        visited.add(address);
      }
    }
  }
  return ordered;
}
