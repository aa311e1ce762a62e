import type { ReferenceGraph } from '../../project/reference-graph.ts';
import { plural } from '../action-words.ts';
import { htmlPage } from '../html/page.ts';
import { escapeMarkup } from '../markup.ts';
import { graphSvg } from './graph-svg.ts';

/** The picture as a page, with every resource and what it refers to in a list that can be searched. */
export function graphHtml(graph: ReferenceGraph, { workspace }: { readonly workspace: string }): string {
  const title = `voxform graph: ${workspace}`;
  const edges = Map.groupBy(graph.edges, ({ from }) => from);
  const items = graph.nodes.map(({ id }) => {
    const to = (edges.get(id) ?? []).map((edge) => {
      const fields =
        edge.fields.length === 0 ? '' : ` <span class="faint">${escapeMarkup(edge.fields.join(', '))}</span>`;
      return ` → <code>${escapeMarkup(edge.to)}</code>${fields}`;
    });
    return `<li data-item="node"><code><strong>${escapeMarkup(id)}</strong></code>${to.join('')}</li>`;
  });
  const count = `${plural(graph.nodes.length, 'resource')} and ${plural(graph.edges.length, 'reference')} between them.`;
  const body = [
    `<header><h1>${escapeMarkup(title)}</h1><p class="summary">${count}</p></header><main>`,
    `<div class="picture" tabindex="0" role="region" aria-label="Reference graph">${graphSvg(graph, { standalone: false })}</div>`,
    '<div class="tools" hidden><input type="search" id="search" placeholder="Search" aria-label="Search resources" aria-keyshortcuts="/"><span id="count" role="status"></span></div>',
    `<ul class="plain">${items.join('\n')}</ul></main>`,
  ];
  return htmlPage({ title, body: body.join('\n') });
}
