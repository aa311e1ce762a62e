import type { PlanDocument, PlannedResource } from '../../engine/plan/plan-document.ts';
import type { ReferenceEdge, ReferenceGraph, ReferenceNode } from '../../project/reference-graph.ts';
import { plural } from '../plural.ts';
import { type GroupedGraph, MAX_GROUPS, MAX_UNGROUPED, type NodeGroup } from './grouping.ts';

/** The nodes and edges to draw. A node can represent several resources. Frames surround the nodes of a group. */
export interface Picture extends ReferenceGraph {
  readonly frames: readonly NodeGroup[];
  /** The ids of nodes in other groups. */
  readonly outside?: ReadonlySet<string>;
  readonly note?: string;
}

const MAX_BOXES = 1000;
/** The maximum number of nodes of a kind in another group that are drawn individually. */
const MAX_NAMED = 3;

/** Returns a picture of all nodes, with groups as frames, or the overview if there are too many nodes. */
export function wholePicture(graph: GroupedGraph): Picture {
  if (graph.nodes.length > MAX_BOXES) return overviewPicture(graph);
  const { nodes, edges, groups } = graph;
  // Nodes without a group have no frame.
  const frames = groups.filter(({ isRest }) => groups.length > 1 && !isRest);
  return { nodes, edges, frames };
}

/** Returns a picture with one node for each kind in each group. If there are too many groups, the smallest are combined. */
export function overviewPicture({ nodes, edges, groups }: GroupedGraph): Picture {
  const combinedIds = new Map<string, string>();
  const frames = limitGroups(groups).map((group) => {
    const kinds = [...Map.groupBy(group.nodes, ({ kind }) => kind).values()];
    // A group with a single box has no frame, so the box has the name of the group.
    const name = kinds.length === 1 && groups.length > 1 && !group.isRest ? group.name : '';
    return { ...group, nodes: kinds.flatMap((members) => combine(members, { group, combinedIds, name })) };
  });
  return {
    nodes: frames.flatMap((frame) => frame.nodes),
    edges: joinedEdges(edges, combinedIds),
    frames: frames.length > 1 ? frames.filter((frame) => frame.nodes.length > 1) : [],
    note: `${plural(nodes.length, 'resource')} in ${plural(groups.length, 'group')}`,
  };
}

/** Returns a picture of one group with all its references. A few nodes of another group are drawn individually, many are only counted. */
export function groupPicture({ edges, groups }: GroupedGraph, group: NodeGroup): Picture {
  const inside = new Set(group.nodes.map(({ id }) => id));
  const touching = edges.filter(({ from, to }) => inside.has(from) || inside.has(to));
  const ends = new Set(touching.flatMap(({ from, to }) => [from, to]));
  const combinedIds = new Map<string, string>();
  const outside = groups.flatMap((other) => {
    const connected = other === group ? [] : other.nodes.filter(({ id }) => ends.has(id));
    return [...Map.groupBy(connected, ({ kind }) => kind).values()].flatMap((members) =>
      members.length <= MAX_NAMED ? members : combine(members, { group: other, combinedIds, name: other.name }),
    );
  });
  const [nodes, joined] = [[...group.nodes, ...outside], joinedEdges(touching, combinedIds)];
  if (nodes.length > MAX_BOXES) return overviewPicture({ nodes, edges: joined, by: 'none', groups: [group] });
  return { nodes, edges: joined, frames: [], outside: new Set(outside.map(({ id }) => id)) };
}

/** Combines the nodes of one kind in a group into one node. */
function combine(
  members: readonly ReferenceNode[],
  { group, combinedIds, name }: { group: NodeGroup; combinedIds: Map<string, string>; name: string },
): ReferenceNode[] {
  const [first] = members;
  if (first === undefined || members.length === 1) return [...members];
  const marks = new Set(members.map(({ mark }) => mark));
  const { kind } = first;
  const combinedId = `${group.id} ${kind}`;
  for (const { id } of members) combinedIds.set(id, combinedId);
  return [{ id: combinedId, kind, name, mark: marks.size === 1 ? first.mark : undefined, count: members.length }];
}

function limitGroups(groups: readonly NodeGroup[]): NodeGroup[] {
  if (groups.length <= MAX_GROUPS) return [...groups];
  const bySize = groups.toSorted((a, b) => b.nodes.length - a.nodes.length);
  const small = new Set(bySize.slice(MAX_GROUPS - 1));
  const nodes = [...small].flatMap((group) => group.nodes);
  const others = { id: 'more-groups', name: `${small.size} more groups`, isRest: true, nodes };
  return [...groups.filter((group) => !small.has(group)), others];
}

function joinedEdges(edges: readonly ReferenceEdge[], combinedIds: ReadonlyMap<string, string>): ReferenceEdge[] {
  const joined = new Map<string, ReferenceEdge>();
  for (const edge of edges) {
    const from = combinedIds.get(edge.from) ?? edge.from;
    const to = combinedIds.get(edge.to) ?? edge.to;
    const key = JSON.stringify([from, to]);
    const known = joined.get(key);
    const fields = new Set([...(known?.fields ?? []), ...edge.fields]);
    if (from !== to) joined.set(key, { from, to, fields: [...fields].sort() });
  }
  return [...joined.values()];
}

type MarkOf = (resource: PlannedResource) => string | undefined;

/** Returns the graph of a plan, in which each resource is marked with its action or another word. */
export function planGraph({ resources }: Pick<PlanDocument, 'resources'>, markOf: MarkOf = actionOf): ReferenceGraph {
  const known = new Set(resources.map(({ address }) => address));
  return {
    nodes: resources.map((resource) => {
      const { address: id, kind } = resource;
      return { id, kind, name: id.slice(id.indexOf('/') + 1), mark: markOf(resource) };
    }),
    edges: resources.flatMap(({ address, depends_on }) =>
      depends_on.filter((to) => known.has(to)).map((to): ReferenceEdge => ({ from: address, to, fields: [] })),
    ),
  };
}

/** Returns a small graph whole, otherwise the marked resources and their neighbors, or if these are too many, the counts by kind. */
export function planPicture(plan: Pick<PlanDocument, 'resources'>, markOf?: MarkOf): Picture {
  const graph = planGraph(plan, markOf);
  const { nodes, edges } = graph;
  if (nodes.length <= MAX_UNGROUPED) return { ...graph, frames: [] };
  const marked = new Set(nodes.filter(({ mark }) => mark !== undefined).map(({ id }) => id));
  const touching = edges.filter(({ from, to }) => marked.has(from) || marked.has(to));
  const shown = new Set([...marked, ...touching.flatMap(({ from, to }) => [from, to])]);
  if (shown.size > 0 && shown.size <= MAX_UNGROUPED) {
    const shownNodes = nodes.filter(({ id }) => shown.has(id));
    const note = `${plural(nodes.length - shownNodes.length, 'unchanged resource')} not shown`;
    return { nodes: shownNodes, edges: touching, frames: [], note };
  }
  const groups = [...Map.groupBy(nodes, ({ mark }) => mark ?? 'unchanged')].map(
    ([name, members], index): NodeGroup => ({ id: `group-${index}`, name, nodes: members, isRest: true }),
  );
  return overviewPicture({ ...graph, by: 'none', groups });
}

function actionOf({ action }: PlannedResource): string | undefined {
  return action === 'noop' ? undefined : action;
}
