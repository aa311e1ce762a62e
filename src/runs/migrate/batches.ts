import { type PlanDocument, type PlannedResource, writes } from '../../engine/plan/plan-document.ts';
import type { Address } from '../../manifests/resource.ts';

/**
 * What an apply of the plan would write, in parts of at most `size`: each resource after all that it depends on, in the same part or an
 * earlier one, and among equals by address.
 */
export function batchesOf(
  { resources }: Pick<PlanDocument, 'resources'>,
  size: number = Number.POSITIVE_INFINITY,
): PlannedResource[][] {
  const written = new Map(
    resources.flatMap((resource) => (writes.has(resource.action) ? [[resource.address, resource]] : [])),
  );
  const depths = depthsOf(written);
  const depth = ({ address }: PlannedResource): number => depths.get(address) ?? 0;
  const ordered = [...written.values()].sort(
    (a, b) => depth(a) - depth(b) || (a.address < b.address ? -1 : 1),
  );
  const batches: PlannedResource[][] = [];
  for (const resource of ordered) {
    const last = batches.at(-1);
    if (last === undefined || last.length >= size) batches.push([resource]);
    else last.push(resource);
  }
  return batches;
}

/** How many others must come before each, one after the other. A plan holds no circle. */
function depthsOf(written: ReadonlyMap<Address, PlannedResource>): ReadonlyMap<Address, number> {
  const depths = new Map<Address, number>();
  for (const start of written.keys()) {
    const stack = [start];
    for (let address = stack.at(-1); address !== undefined; address = stack.at(-1)) {
      const before = (written.get(address)?.depends_on ?? []).filter((each) => written.has(each));
      const open = before.filter((each) => !depths.has(each));
      if (open.length > 0) stack.push(...open);
      else {
        depths.set(address, Math.max(0, ...before.map((each) => (depths.get(each) ?? 0) + 1)));
        stack.pop();
      }
    }
  }
  return depths;
}
