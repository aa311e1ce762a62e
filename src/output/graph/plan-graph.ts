import type { PlanDocument, PlannedResource } from '../../engine/plan/plan-document.ts';
import type { ReferenceEdge, ReferenceGraph } from '../../project/reference-graph.ts';

/** What the resources of a plan refer to, each marked with what is to happen to it, or with another word. */
export function planGraph(
  { resources }: Pick<PlanDocument, 'resources'>,
  markOf: (resource: PlannedResource) => string | undefined = actionOf,
): ReferenceGraph {
  const known = new Set(resources.map(({ address }) => address));
  return {
    nodes: resources.map((resource) => ({
      id: resource.address,
      kind: resource.kind,
      name: resource.address.slice(resource.address.indexOf('/') + 1),
      mark: markOf(resource),
    })),
    edges: resources.flatMap(({ address, depends_on }) =>
      depends_on
        .filter((to) => known.has(to))
        .map((to): ReferenceEdge => ({ from: address, to, fields: [] })),
    ),
  };
}

function actionOf({ action }: PlannedResource): string | undefined {
  return action === 'noop' ? undefined : action;
}
