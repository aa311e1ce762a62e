import type { ReferenceEdge, ReferenceNode } from '../../project/reference-graph.ts';

/**
 * The column of each node. All nodes of a kind share one where kinds refer to each other in one direction; else each node stands
 * behind whatever refers to it.
 */
export function ranksOf(
  nodes: readonly ReferenceNode[],
  edges: readonly ReferenceEdge[],
): (id: string) => number {
  const kindOf = new Map(nodes.map(({ id, kind }) => [id, kind]));
  const between = edges.map(({ from, to }) => [kindOf.get(from) ?? '', kindOf.get(to) ?? ''] as const);
  const byKind = longestPaths([...new Set(kindOf.values())], between);
  const straight = between.every(([from, to]) => (byKind.get(from) ?? 0) < (byKind.get(to) ?? 0));
  if (straight) return (id) => byKind.get(kindOf.get(id) ?? '') ?? 0;
  const byNode = longestPaths(
    nodes.map(({ id }) => id),
    edges.map(({ from, to }) => [from, to] as const),
  );
  return (id) => byNode.get(id) ?? 0;
}

/** For each key the longest way to it. An edge that closes a circle counts nothing. */
function longestPaths(
  keys: readonly string[],
  edges: readonly (readonly [from: string, to: string])[],
): ReadonlyMap<string, number> {
  const into = Map.groupBy(edges, ([, to]) => to);
  const ranks = new Map<string, number>();
  const open = new Set<string>();
  const rank = (key: string): number => {
    const known = ranks.get(key);
    if (known !== undefined) return known;
    open.add(key);
    const before = (into.get(key) ?? []).map(([from]) => from).filter((from) => !open.has(from));
    const found = Math.max(0, ...before.map((from) => rank(from) + 1));
    open.delete(key);
    ranks.set(key, found);
    return found;
  };
  for (const key of keys) rank(key);
  return ranks;
}
