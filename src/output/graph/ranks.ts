import type { ReferenceEdge, ReferenceNode } from '../../project/reference-graph.ts';

interface Ranks {
  /** The column of a node's kind, where kinds refer to each other in one direction. */
  rankOf(id: string): number;
  /** False where kinds refer to each other in a cycle: then kinds have no columns. */
  readonly isStraight: boolean;
}

/** All nodes of a kind share a column: how many kinds stand one after the other before it. */
export function ranksOf(nodes: readonly ReferenceNode[], edges: readonly ReferenceEdge[]): Ranks {
  const kindOf = new Map(nodes.map(({ id, kind }) => [id, kind]));
  const steps = new Map(
    edges.map(({ from, to }) => {
      const step = [kindOf.get(from) ?? '', kindOf.get(to) ?? ''] as const;
      return [JSON.stringify(step), step];
    }),
  );
  const ranks = new Map([...kindOf.values()].map((kind) => [kind, 0]));
  const isSettled = () =>
    [...steps.values()].every(([from, to]) => (ranks.get(from) ?? 0) < (ranks.get(to) ?? 0));
  // After as many rounds as there are kinds only a cycle is not settled.
  for (let round = 0; round < ranks.size && !isSettled(); round++) {
    for (const [from, to] of steps.values())
      ranks.set(to, Math.max(ranks.get(to) ?? 0, (ranks.get(from) ?? 0) + 1));
  }
  const isStraight = isSettled();
  return { rankOf: (id) => (isStraight ? (ranks.get(kindOf.get(id) ?? '') ?? 0) : 0), isStraight };
}
