import type { ReferenceNode } from '../../project/reference-graph.ts';
import { escapeControls } from '../escape-controls.ts';
import { colorStyle, kindClass } from '../html/colors.ts';
import { escapeMarkup } from '../markup.ts';
import { plural } from '../plural.ts';
import { displayWidth, truncate } from '../text-width.ts';
import { graphStyle } from './graph-style.ts';
import { type GroupedGraph, MOST_UNGROUPED } from './grouping.ts';
import { type Laid, layeredLayout, margin, type Wire } from './layout.ts';
import { overviewPicture, type Picture, wholePicture } from './pictures.ts';

/* Lengths are in pixels. */
const widestName = 34;
const character = 7.3;

interface GraphSvgOptions {
  /** With its own colours and namespace, as a file needs them. */
  readonly standalone: boolean;
  linkOf?(node: Pick<ReferenceNode, 'id'>): string | undefined;
}

/** A file opens no groups: of many resources it shows how many of each kind are in each. */
export function graphFile(graph: GroupedGraph): string {
  const isOverview = graph.nodes.length > MOST_UNGROUPED && graph.groups.length > 1;
  const picture = isOverview ? overviewPicture(graph) : wholePicture(graph);
  return `${graphSvg(picture, { standalone: true })}\n`;
}

/** What refers on the left, what it refers to on the right. */
export function graphSvg(picture: Picture, options: GraphSvgOptions): string {
  const { nodes, edges, note } = picture;
  const laid = layeredLayout(picture, widthOf);
  const noted = options.standalone ? note : undefined;
  const height = laid.height + (noted === undefined ? 0 : 24);
  const title = `${plural(nodes.length, 'node')} and ${plural(edges.length, 'edge')}`;
  return [
    `<svg${options.standalone ? ' xmlns="http://www.w3.org/2000/svg"' : ''} class="graph" role="group" aria-label="${escapeMarkup(title)}" viewBox="0 0 ${laid.width} ${height}" width="${laid.width}" height="${height}">`,
    ...(options.standalone
      ? [
          `<style>${colorStyle('.graph')}${graphStyle}</style>`,
          '<rect class="paper" width="100%" height="100%"/>',
        ]
      : []),
    ...laid.frames.map((frame) => frameMarkup(frame, options)),
    ...laid.wires.map(wireMarkup),
    ...nodes.map((node) => nodeMarkup(node, picture, laid, options)),
    ...(noted === undefined
      ? []
      : [`<text class="note" x="${margin}" y="${height - 12}">${escapeMarkup(noted)}</text>`]),
    '</svg>',
  ].join('\n');
}

function above({ kind, count }: ReferenceNode): string {
  return count === undefined ? escapeControls(kind) : `${escapeControls(kind)} × ${count}`;
}

function nameOf({ name }: ReferenceNode): string {
  return truncate(escapeControls(name), widestName);
}

function widthOf(node: ReferenceNode): number {
  const mark = node.mark === undefined ? '' : ` · ${node.mark}`;
  const widest = Math.max(10, displayWidth(above(node) + mark), displayWidth(nameOf(node)));
  return Math.ceil(widest * character) + 24;
}

function nodeMarkup(
  node: ReferenceNode,
  { outside }: Picture,
  { boxes }: Laid,
  { linkOf }: GraphSvgOptions,
): string {
  const box = boxes.get(node.id);
  if (box === undefined) return '';
  const { x, y, width, height } = box;
  const classes = [
    'node',
    kindClass(node.kind),
    ...(node.mark === undefined ? [] : [`mark-${escapeMarkup(node.mark)}`]),
    ...(outside?.has(node.id) ? ['outside'] : []),
  ];
  const mark = node.mark === undefined ? '' : ` <tspan class="mark">· ${escapeMarkup(node.mark)}</tspan>`;
  const isCount = node.name === '';
  const drawn = [
    `<title>${escapeMarkup(`${node.kind}${isCount ? '' : `/${node.name}`}`)}</title>`,
    ...(node.count === undefined
      ? []
      : [`<rect class="stack" x="${x + 4}" y="${y + 4}" width="${width}" height="${height}" rx="6"/>`]),
    `<rect class="box" x="${x}" y="${y}" width="${width}" height="${height}" rx="6"/>`,
    `<rect class="bar" x="${x}" y="${y + 6}" width="4" height="${height - 12}" rx="2"/>`,
    `<text class="kind" x="${x + 12}" y="${y + (isCount ? 24 : 16)}">${escapeMarkup(above(node))}${mark}</text>`,
    ...(isCount
      ? []
      : [`<text class="name" x="${x + 12}" y="${y + 31}">${escapeMarkup(nameOf(node))}</text>`]),
  ].join('');
  return `<g class="${classes.filter((name) => name !== '').join(' ')}">${linked(drawn, linkOf?.(node))}</g>`;
}

/** Its name stands on its upper edge. */
function frameMarkup({ group, box }: Laid['frames'][number], { linkOf }: GraphSvgOptions): string {
  const { x, y, width, height } = box;
  const name = truncate(escapeControls(group.name), Math.floor((width - 24) / character));
  const title = `<text x="${x + 12}" y="${y + 4}">${escapeMarkup(name)}</text>`;
  const rect = `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="8"/>`;
  return `<g class="frame"><title>${escapeMarkup(group.name)}</title>${rect}${linked(title, linkOf?.(group))}</g>`;
}

function linked(markup: string, link: string | undefined): string {
  return link === undefined ? markup : `<a href="${escapeMarkup(link)}">${markup}</a>`;
}

function wireMarkup({ edge: { from, to, fields }, points }: Wire): string {
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
  return `<g class="edge"><title>${escapeMarkup(`${from} refers to ${to}${by}`)}</title><path d="${path.join('')}${tip}"/></g>`;
}
