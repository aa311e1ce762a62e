import type { ReferenceGraph, ReferenceNode } from '../../project/reference-graph.ts';
import { escapeControls } from '../escape-controls.ts';
import { kindColors } from '../html/colors.ts';
import type { GroupedGraph } from './grouping.ts';
import { overviewPicture, type Picture, wholePicture } from './pictures.ts';

/** The default limits of Mermaid, which GitHub and GitLab do not change. */
const MAX_EDGES = 500;
const MAX_CHARACTERS = 50_000;

/** Returns a Mermaid flowchart with each group as a subgraph; above Mermaid's limits, only the counts by kind in each group. */
export function graphMermaid(graph: GroupedGraph): string {
  const whole = flowchart(wholePicture(graph));
  if (graph.edges.length <= MAX_EDGES && whole.length <= MAX_CHARACTERS) return whole;
  return flowchart(overviewPicture(graph));
}

function flowchart({ nodes, edges, frames, note }: Picture): string {
  const names = new Map(nodes.map(({ id }, index) => [id, `n${index}`]));
  const byKind = () => [...Map.groupBy(nodes, ({ kind }) => kind)].map(([name, members]) => ({ name, nodes: members }));
  const isGrouped = frames.length > 0;
  const framed = new Set(frames.flatMap((frame) => frame.nodes.map(({ id }) => id)));
  const box = (node: ReferenceNode) => `  ${names.get(node.id)}["${escapeLabel(labelOf(node, isGrouped))}"]`;
  const needsLabel = edgeLabelPredicate({ nodes, edges });
  const lines = [
    ...(note === undefined ? [] : [`  %% ${note}`]),
    ...(isGrouped ? frames : byKind()).flatMap(({ name, nodes: members }, index) => [
      `  subgraph g${index}["${escapeLabel(name)}"]`,
      ...members.map((node) => `  ${box(node)}`),
      '  end',
    ]),
    ...(isGrouped ? nodes.filter(({ id }) => !framed.has(id)).map(box) : []),
    ...edges.map(({ from, to, fields }) => {
      const label = needsLabel(from, to) ? `|"${escapeLabel(fields.join(', '))}"|` : '';
      return `  ${names.get(from)} -->${label} ${names.get(to)}`;
    }),
  ];
  return `${['flowchart LR', ...lines].join('\n')}\n`;
}

function labelOf({ kind, name, count }: ReferenceNode, isGrouped: boolean): string {
  if (count !== undefined) return name === '' ? `${count} ${kind}` : `${name}: ${count} ${kind}`;
  return isGrouped ? `${kind}/${name}` : name;
}

/** Returns a predicate that is true if an edge needs a label, because edges between the same two kinds have different fields. */
function edgeLabelPredicate({ nodes, edges }: ReferenceGraph): (from: string, to: string) => boolean {
  const kindOf = new Map(nodes.map(({ id, kind }) => [id, kind]));
  const between = (from: string, to: string) => JSON.stringify([kindOf.get(from), kindOf.get(to)]);
  const fields = Map.groupBy(edges, ({ from, to }) => between(from, to));
  const ambiguous = new Set(
    [...fields].filter(([, same]) => new Set(same.map((edge) => edge.fields.join())).size > 1).map(([key]) => key),
  );
  return (from, to) => ambiguous.has(between(from, to));
}

/** Escapes text. Mermaid interprets some characters even between quotes, so letters, digits and a few other characters are not escaped. */
function escapeLabel(text: string): string {
  return [...escapeControls(text)]
    .map((character) => (/[\p{L}\p{N} ._,/()+-]/u.test(character) ? character : `#${character.codePointAt(0)};`))
    .join('');
}

/** Returns the whole graph in the DOT language of Graphviz, with each group as a cluster. */
export function graphDot({ groups, edges }: GroupedGraph): string {
  const lines = [
    '  rankdir=LR;',
    '  node [shape=box, style=rounded, fontname="sans-serif", fontsize=10];',
    '  edge [color="#818b98"];',
    ...groups.flatMap(({ name, nodes }, index) => {
      const drawn = nodes.map(({ id, kind, name: own }) => {
        const color = kindColors.get(kind)?.[0];
        return `  ${quote(id)} [label=${quote(`${kind}\n${own}`)}${color === undefined ? '' : `, color="${color}"`}];`;
      });
      if (groups.length < 2) return drawn;
      return [`  subgraph cluster_${index} {`, `    label=${quote(name)};`, ...drawn.map((line) => `  ${line}`), '  }'];
    }),
    ...edges.map(({ from, to, fields }) => {
      const label = fields.length === 0 ? '' : ` [tooltip=${quote(fields.join(', '))}]`;
      return `  ${quote(from)} -> ${quote(to)}${label};`;
    }),
  ];
  return `${['digraph references {', ...lines, '}'].join('\n')}\n`;
}

/** Returns a quoted string. Line feeds are kept; other control characters are escaped. */
function quote(text: string): string {
  const lines = text.split('\n').map((line) => escapeControls(line).replaceAll('\\', '\\\\').replaceAll('"', '\\"'));
  return `"${lines.join('\\n')}"`;
}
