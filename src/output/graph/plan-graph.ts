import type { PlanDocument } from '../../engine/plan-document.ts';
import type { ReferenceEdge, ReferenceGraph } from '../../project/reference-graph.ts';

/** What the resources of a plan refer to, each marked with what is to happen to it. */
export function planGraph({ resources }: Pick<PlanDocument, 'resources'>): ReferenceGraph {
  const known = new Set(resources.map(({ address }) => address));
  return {
    nodes: resources.map(({ address, kind, action }) => ({
      id: address,
      kind,
      name: address.slice(address.indexOf('/') + 1),
      mark: action === 'noop' ? undefined : action,
    })),
    edges: resources.flatMap(({ address, depends_on }) =>
      depends_on
        .filter((to) => known.has(to))
        .map((to): ReferenceEdge => ({ from: address, to, fields: [] })),
    ),
  };
}
