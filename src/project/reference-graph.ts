import type { Resource } from '../manifests/resource.ts';
import { flatten } from '../values/path.ts';
import { references } from '../values/value.ts';

export interface ReferenceGraph {
  readonly nodes: readonly ReferenceNode[];
  readonly edges: readonly ReferenceEdge[];
}

export interface ReferenceNode {
  /** The address of the resource. A node for several resources has another id. */
  readonly id: string;
  readonly kind: string;
  readonly name: string;
  /** The planned action in one word, if known. */
  readonly mark?: string | undefined;
  /** The number of resources that the node represents. The default is 1. */
  readonly count?: number;
  readonly labels?: Readonly<Record<string, string>>;
  /** The file that declares the resource, if any. */
  readonly file?: string;
  readonly line?: number;
}

export interface ReferenceEdge {
  readonly from: string;
  readonly to: string;
  readonly fields: readonly string[];
}

/** Returns the graph of declared resources and of all targets of their references, sorted by address. Each edge occurs once. */
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

/** Returns the part of a graph with these nodes, all nodes that they depend on, and all nodes that depend on them. */
export function connectedTo({ nodes, edges }: ReferenceGraph, ids: readonly string[]): ReferenceGraph {
  const connected = new Set<string>();
  for (const [start, end] of [
    ['from', 'to'],
    ['to', 'from'],
  ] as const) {
    const next = Map.groupBy(edges, (edge) => edge[start]);
    const visited = new Set(ids);
    for (const id of visited) for (const edge of next.get(id) ?? []) visited.add(edge[end]);
    for (const id of visited) connected.add(id);
  }
  return {
    nodes: nodes.filter(({ id }) => connected.has(id)),
    edges: edges.filter(({ from, to }) => connected.has(from) && connected.has(to)),
  };
}
