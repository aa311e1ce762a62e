import type { Resource } from '../manifests/resource.ts';
import { flatten } from '../values/path.ts';
import { references } from '../values/value.ts';

export interface ReferenceGraph {
  readonly nodes: readonly ReferenceNode[];
  readonly edges: readonly ReferenceEdge[];
}

export interface ReferenceNode {
  /** The address, unless the node stands for several resources. */
  readonly id: string;
  readonly kind: string;
  readonly name: string;
  /** What is to happen to it, in a word, where that is known. */
  readonly mark?: string | undefined;
  /** How many resources it stands for; one where absent. */
  readonly count?: number;
  readonly labels?: Readonly<Record<string, string>>;
  /** Where it is declared; absent where no manifest does. */
  readonly file?: string;
  readonly line?: number;
}

export interface ReferenceEdge {
  readonly from: string;
  readonly to: string;
  readonly fields: readonly string[];
}

/** The graph of what manifests declare, with what they refer to besides; by address, each edge once. */
export function referenceGraph(resources: readonly Resource[]): ReferenceGraph {
  const nodes = new Map<string, ReferenceNode>();
  const edges: ReferenceEdge[] = [];
  for (const { address, kind, name, labels, source } of resources)
    nodes.set(address, { id: address, kind, name, labels, ...source });
  for (const { address, spec } of resources) {
    const fields = new Map<string, Set<string>>();
    for (const [path, value] of flatten(spec, () => false)) {
      for (const { kind, target, address: to } of references(value)) {
        if (to === address) continue;
        if (!nodes.has(to)) nodes.set(to, { id: to, kind, name: target });
        fields.set(to, (fields.get(to) ?? new Set()).add(path));
      }
    }
    for (const [to, paths] of fields) edges.push({ from: address, to, fields: [...paths].sort() });
  }
  return {
    nodes: [...nodes.values()].sort((a, b) => (a.id < b.id ? -1 : 1)),
    edges: edges.sort((a, b) => (`${a.from} ${a.to}` < `${b.from} ${b.to}` ? -1 : 1)),
  };
}

/** The part of a graph that these nodes refer to or are referred to by, at any distance, and they themselves. */
export function connectedTo({ nodes, edges }: ReferenceGraph, ids: readonly string[]): ReferenceGraph {
  const kept = new Set<string>();
  for (const [start, end] of [
    ['from', 'to'],
    ['to', 'from'],
  ] as const) {
    const next = Map.groupBy(edges, (edge) => edge[start]);
    const seen = new Set(ids);
    for (const id of seen) for (const edge of next.get(id) ?? []) seen.add(edge[end]);
    for (const id of seen) kept.add(id);
  }
  return {
    nodes: nodes.filter(({ id }) => kept.has(id)),
    edges: edges.filter(({ from, to }) => kept.has(from) && kept.has(to)),
  };
}
