import type { PlanDocument, PlannedResource } from '../../engine/plan/plan-document.ts';
import type { ReferenceEdge, ReferenceGraph } from '../../project/reference-graph.ts';
import { plural } from '../plural.ts';
import { MOST_UNGROUPED, type NodeGroup } from './grouping.ts';
import { overviewPicture, type Picture } from './pictures.ts';

type MarkOf = (resource: PlannedResource) => string | undefined;

/** What the resources of a plan refer to, each marked with what is to happen to it, or with another word. */
export function planGraph(
  { resources }: Pick<PlanDocument, 'resources'>,
  markOf: MarkOf = actionOf,
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

/** All of a small plan; of a large one what is marked with its neighbours; where that is much too, how many of each kind. */
export function planPicture(plan: Pick<PlanDocument, 'resources'>, markOf?: MarkOf): Picture {
  const graph = planGraph(plan, markOf);
  const { nodes, edges } = graph;
  if (nodes.length <= MOST_UNGROUPED) return { ...graph, frames: [] };
  const marked = new Set(nodes.filter(({ mark }) => mark !== undefined).map(({ id }) => id));
  const touching = edges.filter(({ from, to }) => marked.has(from) || marked.has(to));
  const shown = new Set([...marked, ...touching.flatMap(({ from, to }) => [from, to])]);
  if (shown.size > 0 && shown.size <= MOST_UNGROUPED) {
    const kept = nodes.filter(({ id }) => shown.has(id));
    const note = `${plural(nodes.length - kept.length, 'unchanged resource')} not shown`;
    return { nodes: kept, edges: touching, frames: [], note };
  }
  const groups = [...Map.groupBy(nodes, ({ mark }) => mark ?? 'unchanged')].map(
    ([name, members], index): NodeGroup => ({ id: `group-${index}`, name, nodes: members, isRest: true }),
  );
  return overviewPicture({ ...graph, by: 'none', groups });
}

function actionOf({ action }: PlannedResource): string | undefined {
  return action === 'noop' ? undefined : action;
}
