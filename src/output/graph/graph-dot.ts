import type { ReferenceGraph } from '../../project/reference-graph.ts';
import { visible } from '../visible.ts';

/** The whole graph in the language of Graphviz. */
export function graphDot({ nodes, edges }: ReferenceGraph): string {
  const lines = [
    '  rankdir=LR;',
    '  node [shape=box, style=rounded, fontname="monospace", fontsize=10];',
    '  edge [fontname="monospace", fontsize=9];',
    ...nodes.map(({ id, kind, name }) => `  ${quoted(id)} [label=${quoted(`${kind}\n${name}`)}];`),
    ...edges.map(({ from, to, fields }) => {
      const label = fields.length === 0 ? '' : ` [tooltip=${quoted(fields.join(', '))}]`;
      return `  ${quoted(from)} -> ${quoted(to)}${label};`;
    }),
  ];
  return `${['digraph references {', ...lines, '}'].join('\n')}\n`;
}

/** Line feeds are kept; nothing else in the text means anything. */
function quoted(text: string): string {
  const lines = text.split('\n').map((line) => visible(line).replaceAll('\\', '\\\\').replaceAll('"', '\\"'));
  return `"${lines.join('\\n')}"`;
}
