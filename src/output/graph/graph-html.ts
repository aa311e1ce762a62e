import type { ReferenceEdge, ReferenceNode } from '../../project/reference-graph.ts';
import { kindClass } from '../html/colors.ts';
import { type Html, html, joined } from '../html/html.ts';
import { htmlPage, timeHtml } from '../html/page.ts';
import { addressHtml } from '../html/resource-html.ts';
import { plural } from '../plural.ts';
import { graphSvg } from './graph-svg.ts';
import { type GroupedGraph, MAX_GROUPS, type NodeGroup } from './grouping.ts';
import { groupPicture, overviewPicture, type Picture } from './pictures.ts';

/** The maximum number of references of a resource that are not folded. */
const MAX_LISTED = 12;

/** Returns a page with a picture of the groups, and a folded section with a picture for each group. The sections link to each other. */
export function graphHtml(
  graph: GroupedGraph,
  { workspace, made }: { readonly workspace: string; readonly made?: Date },
): string {
  const { nodes, edges, by, groups } = graph;
  const title = `voxform graph: ${workspace}`;
  const isGrouped = groups.length > 1;
  const anchors = new Map(nodes.map(({ id }, index) => [id, `node-${index}`]));
  const anchorOf = (id: string) => anchors.get(id) ?? id.replace(/ .*$/s, '');
  const details = createDetails(edges, anchorOf);
  const drawn = (picture: Picture, label: string) =>
    html`<div class="picture" tabindex="0" role="region" aria-label="${label}">${graphSvg(picture, { standalone: false, linkOf: ({ id }) => `#${anchorOf(id)}` })}</div>`;
  const content = (group: NodeGroup) =>
    html`${drawn(groupPicture(graph, group), `References of ${group.name}`)}<ul class="plain">${joined(group.nodes.map(details), '\n')}</ul>`;
  const counted = `${plural(nodes.length, 'resource')} and ${plural(edges.length, 'reference')} between them`;
  const grouped = isGrouped ? `, in ${groups.length} groups by ${by.replace(':', ' ')}` : '';
  const buttons = html`<button type="button" data-open="yes">Open all</button><button type="button" data-open="no">Close all</button>`;
  const body = html`<header><h1>${title}</h1><p class="where">${timeHtml(made)}</p><p class="summary">${counted}${grouped}.</p>
${nodes.length > 0 && html`<p class="legend">${joined(legendItems(nodes), ' ')}</p>`}
</header><main>
${isGrouped && groups.length <= MAX_GROUPS && drawn(overviewPicture(graph), 'Groups and the references between them')}
<div class="tools" hidden><input type="search" id="search" placeholder="Search" aria-label="Search resources" aria-keyshortcuts="/">${isGrouped && buttons}<span id="count" role="status"></span></div>
${groups.map((group) => (isGrouped ? foldedGroup(group, content(group)) : content(group)))}
</main>`;
  return htmlPage({ title, body });
}

/** The anchor is inside the `details` element, so that following a link opens the group. */
function foldedGroup({ id, name, nodes }: NodeGroup, content: Html): Html {
  return html`<details class="resource" data-group><summary><span class="address">${name}</span><span class="faint">${joined(legendItems(nodes), ' · ')}</span></summary>
<div class="content" id="${id}">${content}</div></details>
`;
}

/** Returns items such as `12 Agent`, in the color of the kind. */
function legendItems(nodes: readonly ReferenceNode[]): Html[] {
  return [...Map.groupBy(nodes, ({ kind }) => kind)].map(
    ([kind, members]) => html`<span class="kind ${kindClass(kind)}">${members.length} ${kind}</span>`,
  );
}

/** Creates a function that returns the details of a node, with links to its references in both directions. */
function createDetails(
  edges: readonly ReferenceEdge[],
  anchorOf: (id: string) => string,
): (node: ReferenceNode) => Html {
  const refersTo = Map.groupBy(edges, ({ from }) => from);
  const referredBy = Map.groupBy(edges, ({ to }) => to);
  const listed = (heading: string, same: readonly ReferenceEdge[] = [], side: 'from' | 'to') => {
    if (same.length === 0) return html``;
    const links = joined(
      same.map(({ [side]: id, fields }) => {
        const by = fields.length > 0 && html` <span class="faint">${fields.join(', ')}</span>`;
        return html`<a href="#${anchorOf(id)}">${addressHtml(id)}</a>${by}`;
      }),
      ', ',
    );
    if (same.length <= MAX_LISTED) return html`<p>${heading} ${links}</p>`;
    return html`<details class="more"><summary>${heading} ${plural(same.length, 'resource')}</summary><p>${links}</p></details>`;
  };
  return ({ id, labels = {}, file, line }) => {
    const marks = [
      ...Object.entries(labels).map(([key, value]) => `${key}: ${value}`),
      ...(file === undefined ? [] : [`${file}:${line}`]),
    ];
    return html`<li id="${anchorOf(id)}" data-item="node"><p><strong>${addressHtml(id)}</strong> <span class="faint">${marks.join(' · ')}</span></p>${listed('refers to', refersTo.get(id), 'to')}${listed('referred to by', referredBy.get(id), 'from')}</li>`;
  };
}
