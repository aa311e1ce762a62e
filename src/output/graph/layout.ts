import { graphlib, layout } from '@dagrejs/dagre';
import type { ReferenceEdge, ReferenceNode } from '../../project/reference-graph.ts';
import type { NodeGroup } from './grouping.ts';
import type { Picture } from './pictures.ts';

/* Lengths are in pixels. */

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface GraphLayout {
  readonly width: number;
  readonly height: number;
  readonly boxes: ReadonlyMap<string, Box>;
  readonly frames: readonly { readonly group: NodeGroup; readonly box: Box }[];
  readonly wires: readonly Wire[];
}

/** The line of a reference. Its points are both ends, and the positions where the line enters and leaves each column in between. */
export interface Wire {
  readonly edge: ReferenceEdge;
  readonly points: readonly Point[];
}

interface Point {
  readonly x: number;
  readonly y: number;
}

export const margin = 16;
const boxHeight = 40;
const rowGap = 10;
/** Leaves room for the name on the edge of a frame. */
const framedRowGap = 16;
const columnGap = 88;
/** The minimum width of the rows of nodes without references. */
const apartWidth = 960;

/** Arranges nodes in columns in the direction of the references. Nodes with neither references nor a frame are placed in rows below. */
export function layeredLayout(
  { nodes, edges, frames }: Picture,
  widthOf: (node: ReferenceNode) => number,
): GraphLayout {
  const linked = new Set(edges.flatMap(({ from, to }) => [from, to]));
  for (const frame of frames) for (const { id } of frame.nodes) linked.add(id);
  const inside = nodes.filter(({ id }) => linked.has(id));
  const { graph, names } = toDagre({ nodes: inside, edges, frames }, widthOf);
  if (inside.length > 0) layout(graph);
  const boxOf = (name: string): Box => {
    const { x, y, width, height } = graph.node(name) as Box;
    const [left, top] = [Math.round(x - width / 2), Math.round(y - height / 2)];
    return { x: left, y: top, width: Math.round(width), height: Math.round(height) };
  };
  const boxes = new Map(inside.map(({ id }) => [id, boxOf(names.get(id) ?? '')]));
  const columns = columnsOf(boxes);
  const { width = 0, height = 0 } = inside.length === 0 ? {} : (graph.graph() as Partial<Box>);
  const outside = nodes.filter(({ id }) => !linked.has(id));
  const apart = inRows(outside, widthOf, { top: Math.max(margin, height), width });
  for (const [id, box] of apart) boxes.set(id, box);
  const all = [...boxes.values()];
  return {
    width: Math.max(Math.ceil(width), ...all.map((box) => box.x + box.width + margin), 2 * margin),
    height: Math.max(Math.ceil(height), ...all.map((box) => box.y + box.height + margin), 2 * margin),
    boxes,
    frames: frames.map((group, index) => ({ group, box: boxOf(`f${index}`) })),
    wires: edges.flatMap((edge) => {
      const [from, to] = [boxes.get(edge.from), boxes.get(edge.to)];
      if (from === undefined || to === undefined) return [];
      const { points } = graph.edge(names.get(edge.from) ?? '', names.get(edge.to) ?? '') as { points: Point[] };
      return [{ edge, points: wirePoints({ from, to }, points, columns) }];
    }),
  };
}

/** Converts the picture to a graph of dagre. Node names are generated, because ids can contain any characters. */
function toDagre(
  { nodes, edges, frames }: Pick<Picture, 'nodes' | 'edges' | 'frames'>,
  widthOf: (node: ReferenceNode) => number,
): { readonly graph: graphlib.Graph; readonly names: ReadonlyMap<string, string> } {
  const graph = new graphlib.Graph({ compound: frames.length > 0 });
  const { rankOf, isStraight } = ranksOf(nodes, edges);
  graph.setGraph({
    rankdir: 'LR',
    nodesep: frames.length > 0 ? framedRowGap : rowGap,
    edgesep: rowGap,
    ranksep: columnGap,
    marginx: margin,
    marginy: margin,
    // With frames, the library must compute the columns, because they determine the sides of the frames.
    ...(isStraight && frames.length === 0 ? { ranker: 'none' } : {}),
  });
  const columnOf = ({ id, kind }: ReferenceNode) => (isStraight ? rankOf(id) : kind);
  const names = new Map(nodes.map(({ id }, index) => [id, `n${index}`]));
  const connect = (from: string, to: string, label: object) =>
    graph.setEdge(names.get(from) ?? '', names.get(to) ?? '', label);
  const widest = new Map(
    [...Map.groupBy(nodes, columnOf)].map(([column, members]) => [column, Math.max(...members.map(widthOf))]),
  );
  for (const node of nodes) {
    graph.setNode(names.get(node.id) ?? '', {
      width: widest.get(columnOf(node)),
      height: boxHeight,
      // The library uses two ranks for each column, because it puts labels between columns.
      rank: 2 * rankOf(node.id),
    });
  }
  for (const { from, to } of edges) connect(from, to, {});
  for (const [index, frame] of frames.entries()) {
    const frameName = `f${index}`;
    graph.setNode(frameName, {});
    for (const { id } of frame.nodes) graph.setParent(names.get(id) ?? '', frameName);
    for (const [from, to] of missingSteps(frame.nodes, edges, rankOf)) connect(from, to, {});
  }
  return { graph, names };
}

/** Returns additional edges that keep the nodes of a frame in the column of their kind. */
function missingSteps(
  nodes: readonly ReferenceNode[],
  edges: readonly ReferenceEdge[],
  rankOf: (id: string) => number,
): (readonly [from: string, to: string])[] {
  const inside = new Set(nodes.map(({ id }) => id));
  const own = edges.filter(({ from, to }) => inside.has(from) && inside.has(to));
  const connected = new Set(own.flatMap(({ from, to }) => [`from ${from}`, `to ${to}`]));
  const columns = [...Map.groupBy(nodes, ({ id }) => rankOf(id))].sort(([a], [b]) => a - b);
  return columns.flatMap(([, members], index) => {
    const next = columns[index + 1]?.[1] ?? [];
    const [first, second] = [members[0], next[0]];
    if (first === undefined || second === undefined) return [];
    return [
      ...members.filter(({ id }) => !connected.has(`from ${id}`)).map(({ id }) => [id, second.id] as const),
      ...next.filter(({ id }) => !connected.has(`to ${id}`)).map(({ id }) => [first.id, id] as const),
    ];
  });
}

interface LayoutColumn {
  readonly left: number;
  readonly right: number;
}

function columnsOf(boxes: ReadonlyMap<string, Box>): LayoutColumn[] {
  const middle = ({ x, width }: Box) => Math.round((x + width / 2) / 4);
  return [...Map.groupBy(boxes.values(), middle).values()].map((column) => ({
    left: Math.min(...column.map(({ x }) => x)),
    right: Math.max(...column.map(({ x, width }) => x + width)),
  }));
}

/** Returns the points of a line that is straight within each column, so that it never bends behind a box. */
function wirePoints(
  { from, to }: { readonly from: Box; readonly to: Box },
  points: readonly Point[],
  columns: readonly LayoutColumn[],
): Point[] {
  const isForward = from.x <= to.x;
  const [start, end] = isForward ? [from.x + from.width, to.x] : [from.x, to.x + to.width];
  const between = points.slice(1, -1).flatMap(({ x, y }) => {
    const column = columns.find(({ left, right }) => x > left && x < right);
    if (column === undefined || Math.min(start, end) > column.left || Math.max(start, end) < column.right) return [];
    const sides = [
      { x: column.left, y: Math.round(y) },
      { x: column.right, y: Math.round(y) },
    ];
    return isForward ? sides : sides.reverse();
  });
  return [{ x: start, y: from.y + from.height / 2 }, ...between, { x: end, y: to.y + to.height / 2 }];
}

function inRows(
  nodes: readonly ReferenceNode[],
  widthOf: (node: ReferenceNode) => number,
  { top, width }: { readonly top: number; readonly width: number },
): [string, Box][] {
  const widest = Math.max(0, ...nodes.map(widthOf));
  const inRow = Math.max(1, Math.floor((Math.max(apartWidth, width) - 2 * margin + rowGap) / (widest + rowGap)));
  return nodes.map(({ id }, index): [string, Box] => {
    const x = margin + (index % inRow) * (widest + rowGap);
    const y = top + Math.floor(index / inRow) * (boxHeight + rowGap);
    return [id, { x, y, width: widest, height: boxHeight }];
  });
}

/**
 * Returns the column of each node. Nodes of a kind share a column, whose index is the length of the longest chain of kinds that refer to
 * this kind. If kinds refer to each other in a cycle, `isStraight` is false and every column is 0.
 */
function ranksOf(nodes: readonly ReferenceNode[], edges: readonly ReferenceEdge[]) {
  const kindOf = new Map(nodes.map(({ id, kind }) => [id, kind]));
  const steps = new Map(
    edges.map(({ from, to }) => {
      const step = [kindOf.get(from) ?? '', kindOf.get(to) ?? ''] as const;
      return [JSON.stringify(step), step];
    }),
  );
  const ranks = new Map([...kindOf.values()].map((kind) => [kind, 0]));
  const isSettled = () => [...steps.values()].every(([from, to]) => (ranks.get(from) ?? 0) < (ranks.get(to) ?? 0));
  // If the ranks still change after one round for each kind, there is a cycle.
  for (let round = 0; round < ranks.size && !isSettled(); round++) {
    for (const [from, to] of steps.values()) ranks.set(to, Math.max(ranks.get(to) ?? 0, (ranks.get(from) ?? 0) + 1));
  }
  const isStraight = isSettled();
  return { rankOf: (id: string) => (isStraight ? (ranks.get(kindOf.get(id) ?? '') ?? 0) : 0), isStraight };
}
