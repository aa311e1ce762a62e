import type { ReferenceEdge, ReferenceGraph, ReferenceNode } from '../../project/reference-graph.ts';

/** A graph that can be looked at, and how many resources it stands for. */
export interface GroupedGraph extends ReferenceGraph {
  /** Undefined where every node is drawn by itself. */
  readonly note: string | undefined;
}

/** Beyond this many nodes a picture tells nothing any more. */
const mostNodes = 60;
/** So many alike are drawn as one. */
const fewestAlike = 3;

/**
 * The graph as it is where it is small. Else resources of a kind with the same neighbours become one node, and where that is not
 * enough all those of a kind with neighbours of the same kinds.
 */
export function groupedGraph(graph: ReferenceGraph): GroupedGraph {
  if (graph.nodes.length <= mostNodes) return { ...graph, note: undefined };
  const byNeighbours = merged(graph, (neighbours) => neighbours.map(({ id }) => id));
  const grouped =
    byNeighbours.nodes.length <= mostNodes
      ? byNeighbours
      : merged(byNeighbours, (neighbours) => neighbours.map(({ kind }) => kind), 2);
  return {
    ...grouped,
    note: `${graph.nodes.length} resources, of which those that are alike are drawn as one`,
  };
}

type Neighbour = Pick<ReferenceNode, 'id' | 'kind'>;

/** @param fewest so many alike become one */
function merged(
  { nodes, edges }: ReferenceGraph,
  tell: (neighbours: readonly Neighbour[]) => readonly string[],
  fewest = fewestAlike,
): ReferenceGraph {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const out = Map.groupBy(edges, ({ from }) => from);
  const into = Map.groupBy(edges, ({ to }) => to);
  const told = (ids: readonly string[]) => {
    const found = ids.flatMap((id) => byId.get(id) ?? []);
    return [...new Set(tell(found))].sort();
  };
  const alike = Map.groupBy(nodes, ({ id, kind, mark }) =>
    JSON.stringify([
      kind,
      mark ?? '',
      told((out.get(id) ?? []).map(({ to }) => to)),
      told((into.get(id) ?? []).map(({ from }) => from)),
    ]),
  );
  const groupOf = new Map<string, string>();
  const kept: ReferenceNode[] = [];
  for (const members of alike.values()) {
    const [first] = members;
    if (first === undefined || members.length < fewest) {
      kept.push(...members);
      continue;
    }
    const count = members.reduce((sum, node) => sum + (node.count ?? 1), 0);
    const group = { ...first, id: `${first.id} +${count - 1}`, name: groupName(first, count), count };
    kept.push(group);
    for (const { id } of members) groupOf.set(id, group.id);
  }
  return { nodes: kept, edges: joinedEdges(edges, (id) => groupOf.get(id) ?? id) };
}

/** `support-line and 11 more` */
function groupName({ name }: ReferenceNode, count: number): string {
  return `${name.replace(/ and \d+ more$/, '')} and ${count - 1} more`;
}

function joinedEdges(edges: readonly ReferenceEdge[], groupOf: (id: string) => string): ReferenceEdge[] {
  const joined = new Map<string, ReferenceEdge>();
  for (const edge of edges) {
    const [from, to] = [groupOf(edge.from), groupOf(edge.to)];
    const key = JSON.stringify([from, to]);
    const fields = new Set([...(joined.get(key)?.fields ?? []), ...edge.fields]);
    if (from !== to) joined.set(key, { from, to, fields: [...fields].sort() });
  }
  return [...joined.values()];
}
