import type { ReferenceGraph, ReferenceNode } from '../../project/reference-graph.ts';
import { escapeMarkup } from '../markup.ts';
import { displayWidth, truncate } from '../text-width.ts';
import { visible } from '../visible.ts';
import { graphStyle, shadeCount } from './graph-style.ts';
import { groupedGraph } from './group-nodes.ts';
import { type Layout, type Line, layeredLayout, type PlacedNode } from './layered-layout.ts';

/* Lengths are in pixels. */
const character = 7.3;
const boxHeight = 40;
const rowHeight = 54;
const gap = 90;
const margin = 16;
const widestName = 34;
const apartColumns = 3;

export interface GraphSvgOptions {
  /** With its own colours and namespace, as a file needs them. */
  readonly standalone: boolean;
}

/** The graph as a picture: what refers on the left, what it refers to on the right. Empty where nothing is declared. */
export function graphSvg(graph: ReferenceGraph, { standalone }: GraphSvgOptions): string {
  const { note, ...grouped } = groupedGraph(graph);
  const layout = layeredLayout(grouped);
  const frame = frameOf(layout, grouped.nodes);
  const shadeOf = shades(grouped.nodes);
  const title = `${graph.nodes.length} resources and ${graph.edges.length} references between them`;
  const height = frame.height + (note === undefined ? 0 : 24);
  return [
    `<svg${standalone ? ' xmlns="http://www.w3.org/2000/svg"' : ''} class="graph" role="img" aria-label="${escapeMarkup(title)}" viewBox="0 0 ${frame.width} ${height}" width="${frame.width}" height="${height}">`,
    ...(standalone
      ? [`<style>${graphStyle}</style>`, '<rect class="paper" width="100%" height="100%"/>']
      : []),
    ...layout.lines.map((line) => edgeMarkup(line, frame)),
    ...layout.placed.map((placed) => boxMarkup(placed.node, frame.place(placed), shadeOf)),
    ...layout.apart.map((node, index) => boxMarkup(node, frame.placeApart(index), shadeOf)),
    ...(note === undefined
      ? []
      : [`<text class="note" x="${margin}" y="${height - 12}">${escapeMarkup(note)}</text>`]),
    '</svg>',
  ].join('\n');
}

interface Place {
  readonly x: number;
  readonly y: number;
  readonly width: number;
}

interface Frame {
  readonly width: number;
  readonly height: number;
  place(at: { readonly column: number; readonly row: number }): Place;
  placeApart(index: number): Place;
}

function frameOf(layout: Layout, nodes: readonly ReferenceNode[]): Frame {
  const widthOf = (some: readonly ReferenceNode[]) =>
    Math.ceil(Math.max(10, ...some.map((node) => Math.max(...labelOf(node).map(displayWidth)))) * character) +
    24;
  const widths = Array.from({ length: layout.columns }, (_, column) =>
    widthOf(layout.placed.filter((placed: PlacedNode) => placed.column === column).map(({ node }) => node)),
  );
  const starts = widths.map(
    (_, column) => margin + widths.slice(0, column).reduce((sum, width) => sum + width + gap, 0),
  );
  const apartWidth = widthOf(layout.apart);
  const tall = layout.rows === 0 ? 0 : (layout.rows - 1) * rowHeight + boxHeight + margin;
  const apartTop = margin + tall;
  const apartRows = Math.ceil(layout.apart.length / apartColumns);
  const inColumns = (starts.at(-1) ?? margin) + (widths.at(-1) ?? 0) + margin;
  const inApart = margin + Math.min(apartColumns, layout.apart.length) * (apartWidth + margin);
  return {
    width: nodes.length === 0 ? 2 * margin : Math.max(layout.columns === 0 ? 0 : inColumns, inApart, 320),
    height: Math.round(apartTop + (apartRows === 0 ? 0 : apartRows * rowHeight)),
    place: ({ column, row }) => ({
      x: starts[column] ?? margin,
      y: Math.round(margin + row * rowHeight),
      width: widths[column] ?? 0,
    }),
    placeApart: (index) => ({
      x: margin + (index % apartColumns) * (apartWidth + margin),
      y: apartTop + Math.floor(index / apartColumns) * rowHeight,
      width: apartWidth,
    }),
  };
}

function labelOf({ kind, name, mark, count }: ReferenceNode): readonly [above: string, name: string] {
  const above = [
    visible(kind),
    ...(count === undefined ? [] : [`×${count}`]),
    ...(mark === undefined ? [] : [mark]),
  ];
  return [above.join(' · '), truncate(visible(name), widestName)];
}

/** By what is to happen to a node; where that is said of none, by its kind. */
function shades(nodes: readonly ReferenceNode[]): (node: ReferenceNode) => string {
  const isMarked = nodes.some(({ mark }) => mark !== undefined);
  const kinds = [...new Set(nodes.map(({ kind }) => kind))].sort();
  return ({ kind, mark }) => {
    if (isMarked) return mark === undefined ? '' : ` mark-${escapeMarkup(mark)}`;
    return ` shade-${kinds.indexOf(kind) % shadeCount}`;
  };
}

function boxMarkup(
  node: ReferenceNode,
  { x, y, width }: Place,
  shadeOf: (node: ReferenceNode) => string,
): string {
  const [above, name] = labelOf(node);
  const stack =
    node.count === undefined
      ? ''
      : `<rect class="stack" x="${x + 4}" y="${y + 4}" width="${width}" height="${boxHeight}" rx="6"/>`;
  return [
    `<g class="node${shadeOf(node)}"><title>${escapeMarkup(`${node.kind}/${node.name}`)}</title>${stack}`,
    `<rect class="box" x="${x}" y="${y}" width="${width}" height="${boxHeight}" rx="6"/>`,
    `<rect class="bar" x="${x}" y="${y + 6}" width="4" height="${boxHeight - 12}" rx="2"/>`,
    `<text class="kind" x="${x + 12}" y="${y + 16}">${escapeMarkup(above)}</text>`,
    `<text class="name" x="${x + 12}" y="${y + 32}">${escapeMarkup(name)}</text></g>`,
  ].join('');
}

function edgeMarkup({ from, to, fields, points }: Line, frame: Frame): string {
  const places = points.map((point) => frame.place(point));
  const parts: string[] = [];
  for (const [index, place] of places.entries()) {
    const y = place.y + boxHeight / 2;
    const previous = places[index - 1];
    if (previous === undefined) {
      parts.push(`M${place.x + place.width} ${y}`);
      continue;
    }
    const start = previous.x + previous.width;
    const bend = Math.round((place.x - start) / 2);
    parts.push(`C${start + bend} ${previous.y + boxHeight / 2} ${place.x - bend} ${y} ${place.x} ${y}`);
    if (index < places.length - 1) parts.push(`H${place.x + place.width}`);
  }
  const last = places.at(-1);
  const tip = last === undefined ? '' : `M${last.x - 6} ${last.y + boxHeight / 2 - 4}l6 4l-6 4`;
  const title = `${from} refers to ${to}: ${fields.join(', ')}`;
  return `<g class="edge"><title>${escapeMarkup(fields.length === 0 ? title.slice(0, -2) : title)}</title><path d="${parts.join('')}"/><path d="${tip}"/></g>`;
}
