import type { ReferenceGraph } from '../../project/reference-graph.ts';
import { visible } from '../visible.ts';
import { groupedGraph } from './group-nodes.ts';

/** The graph as a Mermaid flowchart, which GitHub and GitLab draw. */
export function graphMermaid(graph: ReferenceGraph): string {
  const { nodes, edges, note } = groupedGraph(graph);
  const names = new Map(nodes.map(({ id }, index) => [id, `n${index}`]));
  const kinds = Map.groupBy(nodes, ({ kind }) => kind);
  const tells = fieldsThatTell({ nodes, edges });
  const lines = [
    ...(note === undefined ? [] : [`  %% ${note}`]),
    ...[...kinds].flatMap(([kind, members], index) => [
      `  subgraph k${index}["${escaped(kind)}"]`,
      ...members.map((node) => `    ${names.get(node.id)}["${escaped(node.name)}"]`),
      '  end',
    ]),
    ...edges.map(({ from, to, fields }) => {
      const label = tells(from, to) ? `|"${escaped(fields.join(', '))}"|` : '';
      return `  ${names.get(from)} -->${label} ${names.get(to)}`;
    }),
  ];
  return `${['flowchart LR', ...lines].join('\n')}\n`;
}

/** Where all arrows from one kind to another are of the same fields, their names say nothing. */
function fieldsThatTell({ nodes, edges }: ReferenceGraph): (from: string, to: string) => boolean {
  const kindOf = new Map(nodes.map(({ id, kind }) => [id, kind]));
  const between = (from: string, to: string) => JSON.stringify([kindOf.get(from), kindOf.get(to)]);
  const fields = Map.groupBy(edges, ({ from, to }) => between(from, to));
  const telling = new Set(
    [...fields]
      .filter(([, same]) => new Set(same.map((edge) => edge.fields.join())).size > 1)
      .map(([key]) => key),
  );
  return (from, to) => telling.has(between(from, to));
}

/** Mermaid reads some words and marks as its own even between quotes: everything but plain text is written by its number. */
function escaped(text: string): string {
  return [...visible(text)]
    .map((character) =>
      /[\p{L}\p{N} ._,/()+-]/u.test(character) ? character : `#${character.codePointAt(0)};`,
    )
    .join('');
}
