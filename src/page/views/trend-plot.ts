import { type Html, html } from '../../output/html/html.ts';
import type { Trend } from '../page-data.ts';
import { grouped } from './parts.ts';

const size = { width: 240, height: 40, gap: 2 } as const;

/** Counts per hour as bars, with their sum. Without any, a line of text. */
function trendPlot({ name, tone, counts }: Trend): Html {
  const sum = counts.reduce((total, count) => total + count, 0);
  if (sum === 0) return html`<li class="faint">No ${name} in 24 h</li>`;
  const most = Math.max(...counts);
  const step = size.width / counts.length;
  const bars = counts.map((count, index) => {
    const height = count === 0 ? 0 : Math.max(2, (count / most) * size.height);
    return html`<rect x="${(index * step).toFixed(1)}" y="${(size.height - height).toFixed(1)}" width="${(step - size.gap).toFixed(1)}" height="${height.toFixed(1)}"/>`;
  });
  const label = `${name} per hour in the last 24 hours, at most ${grouped(most)}`;
  return html`<li class="${tone}"><strong>${grouped(sum)}</strong> ${name} in 24 h<svg viewBox="0 0 ${size.width} ${size.height}" preserveAspectRatio="none" role="img" aria-label="${label}">${bars}</svg></li>`;
}

export function trendPlots(trends: readonly Trend[]): Html {
  return trends.length === 0 ? html`` : html`<ul class="trends">${trends.map(trendPlot)}</ul>`;
}
