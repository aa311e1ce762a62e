import { escapeControls } from '../escape-controls.ts';
import { kindColors } from '../html/colors.ts';
import type { GroupedGraph } from './grouping.ts';

/** The whole graph in the language of Graphviz, each group as a cluster. */
export function graphDot({ groups, edges }: GroupedGraph): string {
  const lines = [
    '  rankdir=LR;',
    '  node [shape=box, style=rounded, fontname="sans-serif", fontsize=10];',
    '  edge [color="#818b98"];',
    ...groups.flatMap(({ name, nodes }, index) => {
      const drawn = nodes.map(({ id, kind, name: own }) => {
        const color = kindColors.get(kind)?.[0];
        return `  ${quoted(id)} [label=${quoted(`${kind}\n${own}`)}${color === undefined ? '' : `, color="${color}"`}];`;
      });
      if (groups.length < 2) return drawn;
      return [
        `  subgraph cluster_${index} {`,
        `    label=${quoted(name)};`,
        ...drawn.map((line) => `  ${line}`),
        '  }',
      ];
    }),
    ...edges.map(({ from, to, fields }) => {
      const label = fields.length === 0 ? '' : ` [tooltip=${quoted(fields.join(', '))}]`;
      return `  ${quoted(from)} -> ${quoted(to)}${label};`;
    }),
  ];
  return `${['digraph references {', ...lines, '}'].join('\n')}\n`;
}

/** Line feeds are kept; nothing else in the text means anything. */
function quoted(text: string): string {
  const lines = text
    .split('\n')
    .map((line) => escapeControls(line).replaceAll('\\', '\\\\').replaceAll('"', '\\"'));
  return `"${lines.join('\\n')}"`;
}
