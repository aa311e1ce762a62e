import type { ReferenceEdge, ReferenceNode } from '../../project/reference-graph.ts';
import { addressHtml } from '../html/address-html.ts';
import { kindClass } from '../html/colors.ts';
import { htmlPage, timeHtml } from '../html/page.ts';
import { escapeMarkup } from '../markup.ts';
import { plural } from '../plural.ts';
import { graphSvg } from './graph-svg.ts';
import { type GroupedGraph, MOST_GROUPS, type NodeGroup } from './grouping.ts';
import { groupPicture, overviewPicture, type Picture } from './pictures.ts';

/** So many references of a resource are listed at once. */
const MOST_LISTED = 12;

/** A picture of the groups, and each group folded with its own picture and its resources; all of them lead to each other. */
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
    `<div class="picture" tabindex="0" role="region" aria-label="${escapeMarkup(label)}">${graphSvg(picture, { standalone: false, linkOf: ({ id }) => `#${anchorOf(id)}` })}</div>`;
  const content = (group: NodeGroup) =>
    `${drawn(groupPicture(graph, group), `References of ${group.name}`)}<ul class="plain">${group.nodes.map(details).join('\n')}</ul>`;
  const counted = `${plural(nodes.length, 'resource')} and ${plural(edges.length, 'reference')} between them`;
  const body = [
    `<header><h1>${escapeMarkup(title)}</h1><p class="where">${timeHtml(made)}</p><p class="summary">${counted}${isGrouped ? `, in ${groups.length} groups by ${escapeMarkup(by.replace(':', ' '))}` : ''}.</p>`,
    legend(nodes),
    '</header><main>',
    ...(isGrouped && groups.length <= MOST_GROUPS
      ? [drawn(overviewPicture(graph), 'Groups and the references between them')]
      : []),
    `<div class="tools" hidden><input type="search" id="search" placeholder="Search" aria-label="Search resources" aria-keyshortcuts="/">${isGrouped ? '<button type="button" data-open="yes">Open all</button><button type="button" data-open="no">Close all</button>' : ''}<span id="count" role="status"></span></div>`,
    ...groups.map((group) => (isGrouped ? folded(group, content(group)) : content(group))),
    '</main>',
  ];
  return htmlPage({ title, body: body.join('\n') });
}

/** The anchor is inside: a link to it opens the group. */
function folded({ id, name, nodes }: NodeGroup, content: string): string {
  return [
    '<details class="resource" data-group>',
    `<summary><span class="address">${escapeMarkup(name)}</span><span class="faint">${legendItems(nodes).join(' · ')}</span></summary>`,
    `<div class="content" id="${id}">${content}</div></details>`,
  ].join('');
}

function legend(nodes: readonly ReferenceNode[]): string {
  return nodes.length === 0 ? '' : `<p class="legend">${legendItems(nodes).join(' ')}</p>`;
}

/** `12 Agent`, in the colour of the kind. */
function legendItems(nodes: readonly ReferenceNode[]): string[] {
  return [...Map.groupBy(nodes, ({ kind }) => kind)].map(
    ([kind, members]) =>
      `<span class="kind ${kindClass(kind)}">${members.length} ${escapeMarkup(kind)}</span>`,
  );
}

/** Markup of all that is known of a node, with links to what it refers to and what refers to it. */
function createDetails(
  edges: readonly ReferenceEdge[],
  anchorOf: (id: string) => string,
): (node: ReferenceNode) => string {
  const refersTo = Map.groupBy(edges, ({ from }) => from);
  const referredBy = Map.groupBy(edges, ({ to }) => to);
  const listed = (
    heading: string,
    sides: readonly { readonly id: string; readonly fields: readonly string[] }[],
  ) => {
    if (sides.length === 0) return '';
    const links = sides.map(({ id, fields }) => {
      const by = fields.length === 0 ? '' : ` <span class="faint">${escapeMarkup(fields.join(', '))}</span>`;
      return `<a href="#${anchorOf(id)}">${addressHtml(id)}</a>${by}`;
    });
    if (links.length <= MOST_LISTED) return `<p>${heading} ${links.join(', ')}</p>`;
    return `<details class="more"><summary>${heading} ${plural(links.length, 'resource')}</summary><p>${links.join(', ')}</p></details>`;
  };
  return ({ id, labels = {}, file, line }) => {
    const marks = [
      ...Object.entries(labels).map(([key, value]) => `${key}: ${value}`),
      ...(file === undefined ? [] : [`${file}:${line}`]),
    ];
    return [
      `<li id="${anchorOf(id)}" data-item="node">`,
      `<p><strong>${addressHtml(id)}</strong> <span class="faint">${escapeMarkup(marks.join(' · '))}</span></p>`,
      listed(
        'refers to',
        (refersTo.get(id) ?? []).map(({ to, fields }) => ({ id: to, fields })),
      ),
      listed(
        'referred to by',
        (referredBy.get(id) ?? []).map(({ from, fields }) => ({ id: from, fields })),
      ),
      '</li>',
    ].join('');
  };
}
