import { kinds } from '../../kinds/index.ts';
import { compareText } from '../../problems/compare-text.ts';
import type { ReferenceGraph, ReferenceNode } from '../../project/reference-graph.ts';

export type GroupBy = 'folder' | 'number' | 'none' | `label:${string}`;

export interface NodeGroup {
  readonly id: string;
  readonly name: string;
  readonly nodes: readonly ReferenceNode[];
  /** True for a group of nodes to which the criterion does not apply. */
  readonly isRest: boolean;
}

export interface GroupedGraph extends ReferenceGraph {
  readonly by: GroupBy;
  /** Each node is in exactly one group. */
  readonly groups: readonly NodeGroup[];
}

/** The maximum number of nodes for a readable graph without groups. */
export const MAX_UNGROUPED = 40;
/** The maximum number of groups in a picture. */
export const MAX_GROUPS = 40;

/** Groups the graph. If `by` is undefined, the first criterion that divides the graph well is used. A small graph is not divided. */
export function groupedGraph(graph: ReferenceGraph, by: GroupBy | undefined): GroupedGraph {
  const chosen = by ?? chooseCriterion(graph);
  return { nodes: graph.nodes, edges: graph.edges, by: chosen, groups: groupsOf(graph, chosen) };
}

/** Returns the label keys of a graph, the most frequent first. */
export function labelKeys({ nodes }: ReferenceGraph): string[] {
  const keys = nodes.flatMap(({ labels = {} }) => Object.keys(labels));
  return [...Map.groupBy(keys, (key) => key)]
    .sort(([a, some], [b, others]) => others.length - some.length || compareText(a, b))
    .map(([key]) => key);
}

/** The maximum share of the nodes in one group. With a larger share, a criterion is not useful. */
const MAX_GROUP_SHARE = 0.8;

function chooseCriterion(graph: ReferenceGraph): GroupBy {
  if (graph.nodes.length <= MAX_UNGROUPED) return 'none';
  const candidates: readonly (readonly GroupBy[])[] = [
    labelKeys(graph).map((key): GroupBy => `label:${key}`),
    ['folder'],
    ['number'],
  ];
  for (const criteria of candidates) {
    const fitting = criteria
      .map((by) => ({ by, groups: groupsOf(graph, by) }))
      .filter(({ by, groups }) => dividesWell(groups, graph, by));
    const best = fitting.sort((a, b) => edgesBetween(a.groups, graph) - edgesBetween(b.groups, graph))[0];
    if (best !== undefined) return best.by;
  }
  return graph.nodes.some(isNumber) ? 'number' : 'none';
}

function dividesWell(groups: readonly NodeGroup[], { nodes }: ReferenceGraph, by: GroupBy): boolean {
  const named = groups.filter(({ isRest }) => !isRest);
  const inside = named.reduce((sum, group) => sum + group.nodes.length, 0);
  const largest = Math.max(...groups.map((group) => group.nodes.length));
  const declared = named.map((group) => group.nodes.filter(({ file }) => file !== undefined));
  const isOfKinds = by === 'folder' && declared.every((some) => new Set(some.map(({ kind }) => kind)).size === 1);
  return (
    named.length >= 2 &&
    named.length <= MAX_GROUPS &&
    inside * 2 >= nodes.length &&
    largest <= nodes.length * MAX_GROUP_SHARE &&
    !isOfKinds
  );
}

function edgesBetween(groups: readonly NodeGroup[], { edges }: ReferenceGraph): number {
  const groupOf = new Map(groups.flatMap(({ id, nodes }) => nodes.map((node) => [node.id, id] as const)));
  return edges.filter(({ from, to }) => groupOf.get(from) !== groupOf.get(to)).length;
}

function groupsOf(graph: ReferenceGraph, by: GroupBy): NodeGroup[] {
  if (by === 'none') return [{ id: 'group-0', name: 'all', nodes: graph.nodes, isRest: false }];
  const own = ownGroups(graph, by);
  const neighbors = new Map<string, Set<string>>(graph.nodes.map(({ id }) => [id, new Set()]));
  for (const { from, to } of graph.edges) {
    const [ofFrom, ofTo] = [own.get(from), own.get(to)];
    if (ofTo !== undefined) neighbors.get(from)?.add(ofTo);
    if (ofFrom !== undefined) neighbors.get(to)?.add(ofFrom);
  }
  const word = by.replace(/^label:/, '');
  const placed = graph.nodes.map((node) => {
    const around = [...(neighbors.get(node.id) ?? [])];
    const name = own.get(node.id) ?? (around.length === 1 ? around[0] : undefined);
    if (name !== undefined) return { node, name, isRest: false };
    return { node, name: `${around.length > 1 ? 'Shared' : `No ${word}`}: ${node.kind}`, isRest: true };
  });
  return [...Map.groupBy(placed, ({ name, isRest }) => JSON.stringify([isRest, name])).values()]
    .map((members) => {
      const [{ name, isRest } = { name: '', isRest: true }] = members;
      return { name, isRest, nodes: members.map(({ node }) => node) };
    })
    .sort((a, b) => Number(a.isRest) - Number(b.isRest) || compareText(a.name, b.name))
    .map((group, index) => ({ id: `group-${index}`, ...group }));
}

/** Returns the group of each node to which the criterion applies. */
function ownGroups(graph: ReferenceGraph, by: Exclude<GroupBy, 'none'>): ReadonlyMap<string, string> {
  if (by === 'number') return byNumber(graph);
  const nameOf = by === 'folder' ? folderIn(graph) : ({ labels }: ReferenceNode) => labels?.[by.slice(6)];
  return new Map(
    graph.nodes.flatMap((node) => {
      const name = nameOf(node);
      return name === undefined ? [] : [[node.id, name] as const];
    }),
  );
}

/** Returns a function that returns the folder of a node below the common folder, at the minimum depth that divides the graph well. */
function folderIn({ nodes }: ReferenceGraph): (node: ReferenceNode) => string | undefined {
  const foldersOf = ({ file = '' }: ReferenceNode) => file.split('/').slice(0, -1);
  const all = nodes.filter(({ file }) => file !== undefined).map(foldersOf);
  const deepest = Math.max(0, ...all.map((folders) => folders.length));
  const sizesAt = (depth: number) =>
    [...Map.groupBy(all, (folders) => folders.slice(0, depth).join('/')).values()].map(({ length }) => length);
  let common = 0;
  while (common < deepest && sizesAt(common + 1).length === 1) common++;
  let depth = common + 1;
  while (depth < deepest && Math.max(...sizesAt(depth)) > all.length * MAX_GROUP_SHARE) depth++;
  return (node) => {
    if (node.file === undefined) return undefined;
    const folders = foldersOf(node);
    return folders.slice(common, depth).join('/') || folders.join('/') || '.';
  };
}

/** Groups numbers with their targets. Numbers with the same target share a group, which has the name of the first number. */
function byNumber({ nodes, edges }: ReferenceGraph): ReadonlyMap<string, string> {
  const numbers = new Map(nodes.filter(isNumber).map((node) => [node.id, node]));
  const targetEdges = edges.filter(({ from, to }) => numbers.has(from) && !numbers.has(to));
  const next = new Map<string, string[]>();
  for (const { from, to } of targetEdges) {
    next.set(from, [...(next.get(from) ?? []), to]);
    next.set(to, [...(next.get(to) ?? []), from]);
  }
  const groups = new Map<string, string>();
  for (const { id, name } of numbers.values()) {
    if (groups.has(id)) continue;
    const reached = new Set([id]);
    for (const one of reached) for (const other of next.get(one) ?? []) reached.add(other);
    const more = [...reached].filter((one) => numbers.has(one)).length - 1;
    for (const one of reached) groups.set(one, more === 0 ? name : `${name} and ${more} more`);
  }
  return groups;
}

/** True for a phone number. Only this kind has routes. */
function isNumber({ kind }: ReferenceNode): boolean {
  return kinds.get(kind)?.routes !== undefined;
}
