import type { ImpactVersion } from '../../runs/impact/impact-document.ts';
import { type Period, type ShareField, wilson } from '../../runs/impact/tally.ts';
import { type Html, html } from './html.ts';

interface SharePlot {
  readonly field: ShareField;
  readonly value: string;
  readonly periods: readonly Period[];
  /** The length of a period in milliseconds. */
  readonly width: number;
  readonly versions: readonly ImpactVersion[];
}

/** Sizes in pixels. The plot is as wide as the screen of a phone, so that text is never scaled down. */
const size = { width: 320, height: 150, left: 42, right: 8, top: 16, bottom: 22 } as const;
const plot = { width: size.width - size.left - size.right, height: size.height - size.top - size.bottom };
/** The maximum number of points. More points would look like noise. */
const MAX_POINTS = 40;
const SCALES = [0.05, 0.1, 0.2, 0.25, 0.4, 0.5, 0.6, 0.8, 1] as const;

/** Plots a share over time, with its confidence interval as a band and publications as dashed lines. */
export function sharePlot({ field, value, periods, width, versions }: SharePlot): Html {
  const points = mergePeriods(periods).map(({ start, end, calls, count }) => ({
    at: (start + end) / 2,
    ...wilson(count(field, value), calls),
  }));
  const [first, last] = [periods[0]?.start ?? 0, (periods.at(-1)?.start ?? 0) + width];
  const maxShare = SCALES.find((scale) => points.every(({ high }) => high <= scale)) ?? 1;
  const x = (at: number): number => size.left + ((at - first) / Math.max(1, last - first)) * plot.width;
  const y = (share: number): number => size.top + (1 - share / maxShare) * plot.height;
  const coordinates = (at: number, share: number): string => `${x(at).toFixed(1)},${y(share).toFixed(1)}`;
  const published = versions
    .map(({ version, published_at }) => ({ version, at: Date.parse(published_at) }))
    .filter(({ at }) => at >= first && at <= last)
    .map(({ version, at }) => ({ version, left: x(at) }));
  const band = [
    ...points.map(({ at, high }) => coordinates(at, high)),
    ...points.toReversed().map(({ at, low }) => coordinates(at, low)),
  ];
  const grid = [0, maxShare / 2, maxShare].map(
    (share) =>
      html`<line class="grid" x1="${size.left}" x2="${size.width - size.right}" y1="${y(share).toFixed(1)}" y2="${y(share).toFixed(1)}"/><text x="${size.left - 5}" y="${(y(share) + 4).toFixed(1)}" text-anchor="end">${Number((share * 100).toFixed(1))}%</text>`,
  );
  const line = points.map(({ at, value: share }) => coordinates(at, share)).join(' ');
  const circles = points.map(
    ({ at, value: share }) => html`<circle class="point" cx="${x(at).toFixed(1)}" cy="${y(share).toFixed(1)}" r="2"/>`,
  );
  const [from, to] = [points[0], points.at(-1)].map((point) => `${((point?.value ?? 0) * 100).toFixed(1)}%`);
  const label = `Share of ${value} over time, from ${from} to ${to}, with ${versions.length} publications`;
  return html`<svg viewBox="0 0 ${size.width} ${size.height}" role="img" aria-label="${label}">${grid}${publications(published)}<polygon class="band" points="${band.join(' ')}"/><polyline class="share" points="${line}"/>${circles}<text x="${size.left}" y="${size.height - 6}">${dayOf(first)}</text><text x="${size.width - size.right}" y="${size.height - 6}" text-anchor="end">${dayOf(last)}</text></svg>`;
}

/** Merges adjacent periods into at most `MAX_POINTS` periods. */
function mergePeriods(periods: readonly Period[]) {
  const each = Math.ceil(periods.length / MAX_POINTS);
  return Array.from({ length: Math.ceil(periods.length / Math.max(1, each)) }, (_, index) => {
    const part = periods.slice(index * each, (index + 1) * each);
    return {
      start: part[0]?.start ?? 0,
      end: part.at(-1)?.start ?? 0,
      calls: part.reduce((sum, { shares }) => sum + shares.calls, 0),
      count: (field: ShareField, value: string) =>
        part.reduce((sum, { shares }) => sum + (shares.of(field).get(value) ?? 0), 0),
    };
  });
}

/** Returns a line for each publication. A label that would overlap the previous label is omitted. */
function publications(versions: readonly { readonly version: number; readonly left: number }[]): Html[] {
  let free = 0;
  return versions.flatMap(({ version, left }) => {
    const line = html`<line class="publication" x1="${left.toFixed(1)}" x2="${left.toFixed(1)}" y1="${size.top}" y2="${size.height - size.bottom}"/>`;
    if (left < free) return [line];
    const label = `v${version}`;
    free = left + 7 * label.length + 4;
    const anchor = left > size.width - 30 && html` text-anchor="end"`;
    return [html`${line}<text x="${left.toFixed(1)}" y="${size.top - 5}"${anchor}>${label}</text>`];
  });
}

function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}
