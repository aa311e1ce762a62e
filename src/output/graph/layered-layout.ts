import type { ReferenceGraph, ReferenceNode } from '../../project/reference-graph.ts';
import { ranksOf } from './ranks.ts';

/** Where everything goes: columns from what refers to what is referred to, in units of rows; `x` is the index of a column. */
export interface Layout {
  readonly columns: number;
  /** Rows of the tallest column. */
  readonly rows: number;
  readonly placed: readonly PlacedNode[];
  readonly lines: readonly Line[];
  /** Nodes without any reference, which have no place in the columns. */
  readonly apart: readonly ReferenceNode[];
}

export interface PlacedNode {
  readonly node: ReferenceNode;
  readonly column: number;
  readonly row: number;
}

/** A reference as the points that its line goes through: one in every column that it crosses. */
export interface Line {
  readonly from: string;
  readonly to: string;
  readonly fields: readonly string[];
  readonly points: readonly { readonly column: number; readonly row: number }[];
}

const sweeps = 12;

interface Cell {
  readonly key: string;
  readonly column: number;
  row: number;
  readonly before: Cell[];
  readonly after: Cell[];
}

/**
 * A layered layout: the column of a node is how far along the chain of references it stands, and inside a column nodes stand near
 * their neighbours, so that few lines cross.
 */
export function layeredLayout({ nodes, edges }: ReferenceGraph): Layout {
  const linked = new Set(edges.flatMap(({ from, to }) => [from, to]));
  const inside = nodes.filter(({ id }) => linked.has(id));
  const rankOf = ranksOf(inside, edges);
  const columns: Cell[][] = [];
  const cellAt = (key: string, column: number): Cell => {
    const cells = columns[column] ?? [];
    columns[column] = cells;
    const cell: Cell = { key, column, row: cells.length, before: [], after: [] };
    cells.push(cell);
    return cell;
  };
  const cells = new Map(inside.map(({ id }) => [id, cellAt(id, rankOf(id))]));
  const lines = edges.flatMap((edge) => {
    const [from, to] = [cells.get(edge.from), cells.get(edge.to)];
    if (from === undefined || to === undefined) return [];
    const path = [from];
    for (let column = from.column + 1; column < to.column; column++) path.push(cellAt('', column));
    path.push(to);
    for (const [index, cell] of path.entries()) {
      const next = path[index + 1];
      if (next === undefined) continue;
      cell.after.push(next);
      next.before.push(cell);
    }
    return [{ ...edge, path }];
  });
  for (let sweep = 0; sweep < sweeps; sweep++) {
    const forward = sweep % 2 === 0;
    for (const column of forward ? columns : columns.toReversed())
      order(column, forward ? 'before' : 'after');
  }
  for (let sweep = 0; sweep < sweeps; sweep++) for (const column of columns) settle(column);
  const lowest = Math.min(0, ...columns.flat().map(({ row }) => row));
  for (const cell of columns.flat()) cell.row -= lowest;
  return {
    columns: columns.length,
    rows: Math.max(0, ...columns.flat().map(({ row }) => row + 1)),
    placed: inside.flatMap((node) => {
      const cell = cells.get(node.id);
      return cell === undefined ? [] : [{ node, column: cell.column, row: cell.row }];
    }),
    lines: lines.map(({ from, to, fields, path }) => ({
      from,
      to,
      fields,
      points: path.map(({ column, row }) => ({ column, row })),
    })),
    apart: nodes.filter(({ id }) => !linked.has(id)),
  };
}

/** Puts the cells of a column in the order of the middles of their neighbours on one side. */
function order(column: Cell[], side: 'before' | 'after'): void {
  const wanted = new Map(column.map((cell) => [cell, middle(cell[side]) ?? cell.row]));
  column.sort((a, b) => (wanted.get(a) ?? 0) - (wanted.get(b) ?? 0));
  for (const [index, cell] of column.entries()) cell.row = index;
}

/** Moves the cells of a column towards their neighbours, as far as their order and the room between them allow. */
function settle(column: readonly Cell[]): void {
  const wanted = column.map((cell) => middle([...cell.before, ...cell.after]) ?? cell.row);
  const down: number[] = [];
  const up: number[] = [];
  for (const [index, row] of wanted.entries())
    down[index] = Math.max(row, (down[index - 1] ?? -Infinity) + 1);
  for (let index = wanted.length - 1; index >= 0; index--)
    up[index] = Math.min(wanted[index] ?? 0, (up[index + 1] ?? Infinity) - 1);
  for (const [index, cell] of column.entries()) cell.row = ((down[index] ?? 0) + (up[index] ?? 0)) / 2;
}

function middle(cells: readonly Cell[]): number | undefined {
  if (cells.length === 0) return undefined;
  return cells.reduce((sum, { row }) => sum + row, 0) / cells.length;
}
