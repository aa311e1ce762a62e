import type { ReferenceGraph, ReferenceNode } from '../../project/reference-graph.ts';
import { visible } from '../visible.ts';
import { groupedGraph } from './group-nodes.ts';

/** With more arrows than this, the names of their fields would hide them. */
const mostLabelled = 30;

/** The graph as a Mermaid flowchart, which GitHub and GitLab draw. */
export function graphMermaid(graph: ReferenceGraph): string {
  const { nodes, edges, note } = groupedGraph(graph);
  const names = new Map(nodes.map(({ id }, index) => [id, `n${index}`]));
  const kinds = Map.groupBy(nodes, ({ kind }) => kind);
  const lines = [
    ...(note === undefined ? [] : [`  %% ${note}`]),
    ...[...kinds].flatMap(([kind, members], index) => [
      `  subgraph k${index}["${escaped(kind)}"]`,
      ...members.map((node) => `    ${names.get(node.id)}["${labelOf(node)}"]`),
      '  end',
    ]),
    ...edges.map(({ from, to, fields }) => {
      const label =
        edges.length > mostLabelled || fields.length === 0 ? '' : `|"${escaped(fields.join(', '))}"|`;
      return `  ${names.get(from)} -->${label} ${names.get(to)}`;
    }),
  ];
  return `${['flowchart LR', ...lines].join('\n')}\n`;
}

function labelOf({ name, count }: ReferenceNode): string {
  return escaped(count === undefined ? name : `${name} (${count})`);
}

/** Mermaid reads some words and marks as its own even between quotes: everything but plain text is written by its number. */
function escaped(text: string): string {
  return [...visible(text)]
    .map((character) =>
      /[\p{L}\p{N} ._,/()+-]/u.test(character) ? character : `#${character.codePointAt(0)};`,
    )
    .join('');
}
