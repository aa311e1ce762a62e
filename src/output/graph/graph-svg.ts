import { readFileSync } from 'node:fs';
import type { ReferenceNode } from '../../project/reference-graph.ts';
import { escapeControls } from '../escape-controls.ts';
import { colorStyle, kindClass } from '../html/colors.ts';
import { type Html, html, joined, trusted } from '../html/html.ts';
import { plural } from '../plural.ts';
import { displayWidth, truncate } from '../text-width.ts';
import { type GroupedGraph, MAX_UNGROUPED } from './grouping.ts';
import { type GraphLayout, layeredLayout, margin, type Wire } from './layout.ts';
import { overviewPicture, type Picture, wholePicture } from './pictures.ts';

export const graphCss = readFileSync(new URL('./graph.css', import.meta.url), 'utf8');

/** The maximum width of a name in characters, and the width of a character in pixels. */
const MAX_NAME_WIDTH = 34;
const CHARACTER_WIDTH = 7.3;

interface GraphSvgOptions {
  /** True to include the colors and the namespace, for a separate file. */
  readonly standalone: boolean;
  linkOf?(node: Pick<ReferenceNode, 'id'>): string | undefined;
}

/** Returns the graph as an SVG file. For a large graph, the file contains only the number of resources of each kind in each group. */
export function graphFile(graph: GroupedGraph): string {
  const isOverview = graph.nodes.length > MAX_UNGROUPED && graph.groups.length > 1;
  const picture = isOverview ? overviewPicture(graph) : wholePicture(graph);
  return `${graphSvg(picture, { standalone: true }).text}\n`;
}

/** Returns a picture as SVG, with references from left to right. */
export function graphSvg(picture: Picture, options: GraphSvgOptions): Html {
  const { standalone } = options;
  const { nodes, edges, note } = picture;
  const laid = layeredLayout(picture, widthOf);
  const noted = standalone ? note : undefined;
  const height = laid.height + (noted === undefined ? 0 : 24);
  const title = `${plural(nodes.length, 'node')} and ${plural(edges.length, 'edge')}`;
  const parts = [
    standalone && html`<style>${trusted(`${colorStyle('.graph')}\n${graphCss}`)}</style>`,
    standalone && html`<rect class="paper" width="100%" height="100%"/>`,
    ...laid.frames.map((frame) => frameMarkup(frame, options)),
    ...laid.wires.map(wireMarkup),
    ...nodes.map((node) => nodeMarkup(node, picture, laid, options)),
    noted !== undefined && html`<text class="note" x="${margin}" y="${height - 12}">${noted}</text>`,
  ];
  return html`<svg${standalone && html` xmlns="http://www.w3.org/2000/svg"`} class="graph" role="group" aria-label="${title}" viewBox="0 0 ${laid.width} ${height}" width="${laid.width}" height="${height}">
${joined(parts, '\n')}
</svg>`;
}

function kindText({ kind, count }: ReferenceNode): string {
  return count === undefined ? escapeControls(kind) : `${escapeControls(kind)} × ${count}`;
}

function nameOf({ name }: ReferenceNode): string {
  return truncate(escapeControls(name), MAX_NAME_WIDTH);
}

function widthOf(node: ReferenceNode): number {
  const mark = node.mark === undefined ? '' : ` · ${node.mark}`;
  const widest = Math.max(10, displayWidth(kindText(node) + mark), displayWidth(nameOf(node)));
  return Math.ceil(widest * CHARACTER_WIDTH) + 24;
}

function nodeMarkup(
  node: ReferenceNode,
  { outside }: Picture,
  { boxes }: GraphLayout,
  { linkOf }: GraphSvgOptions,
): Html {
  const box = boxes.get(node.id);
  if (box === undefined) return html``;
  const { x, y, width, height } = box;
  const { kind, name, mark, count } = node;
  const classes = ['node', kindClass(kind), mark !== undefined && `mark-${mark}`, outside?.has(node.id) && 'outside'];
  const isCount = name === '';
  const tail = mark !== undefined && html` <tspan class="mark">· ${mark}</tspan>`;
  const drawn = html`<title>${isCount ? kind : `${kind}/${name}`}</title>${count !== undefined && html`<rect class="stack" x="${x + 4}" y="${y + 4}" width="${width}" height="${height}" rx="6"/>`}<rect class="box" x="${x}" y="${y}" width="${width}" height="${height}" rx="6"/><rect class="bar" x="${x}" y="${y + 6}" width="4" height="${height - 12}" rx="2"/><text class="kind" x="${x + 12}" y="${y + (isCount ? 24 : 16)}">${kindText(node)}${tail}</text>${!isCount && html`<text class="name" x="${x + 12}" y="${y + 31}">${nameOf(node)}</text>`}`;
  return html`<g class="${joined(classes, ' ')}">${withLink(drawn, linkOf?.(node))}</g>`;
}

/** Returns a frame with its name on the upper edge. */
function frameMarkup({ group, box }: GraphLayout['frames'][number], { linkOf }: GraphSvgOptions): Html {
  const { x, y, width, height } = box;
  const name = truncate(escapeControls(group.name), Math.floor((width - 24) / CHARACTER_WIDTH));
  const title = html`<text x="${x + 12}" y="${y + 4}">${name}</text>`;
  return html`<g class="frame"><title>${group.name}</title><rect x="${x}" y="${y}" width="${width}" height="${height}" rx="8"/>${withLink(title, linkOf?.(group))}</g>`;
}

function withLink(content: Html, link: string | undefined): Html {
  return link === undefined ? content : html`<a href="${link}">${content}</a>`;
}

function wireMarkup({ edge: { from, to, fields }, points }: Wire): Html {
  const path = points.map(({ x, y }, index) => {
    const before = points[index - 1];
    if (before === undefined) return `M${x} ${y}`;
    if (before.y === y) return `H${x}`;
    const bend = Math.round((before.x + x) / 2);
    return `C${bend} ${before.y} ${bend} ${y} ${x} ${y}`;
  });
  const [before, last] = points.slice(-2);
  const back = (before?.x ?? 0) < (last?.x ?? 0) ? -6 : 6;
  const tip = last === undefined ? '' : `M${last.x + back} ${last.y - 4}L${last.x} ${last.y}l${back} 4`;
  const by = fields.length === 0 ? '' : `: ${fields.join(', ')}`;
  return html`<g class="edge"><title>${`${from} refers to ${to}${by}`}</title><path d="${path.join('')}${tip}"/></g>`;
}
