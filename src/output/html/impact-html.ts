import type { ImpactDocument } from '../../runs/impact/impact-document.ts';
import type { Impact } from '../../runs/impact/measure-impact.ts';
import { measures, shareFields } from '../../runs/impact/tally.ts';
import {
  comparedRows,
  comparisonOf,
  isClear,
  quantilesText,
  rangeText,
  shareText,
  valuesOf,
} from '../impact-text.ts';
import { type Html, html, joined } from './html.ts';
import { htmlPage, recordsHtml, timeHtml } from './page.ts';
import { sharePlot } from './share-plot.ts';

/** The newest versions have columns as far as the page has room. Plots and JSON have all. */
const MOST_COLUMNS = 5;

/** The effect of the versions on calls, with a plot of each share, as a page of its own. */
export function impactHtml(impact: Impact, made: Date): string {
  const { address, id, voxform_version } = impact.document;
  const range = rangeText(impact.document);
  const title = `voxform impact: ${address}`;
  const body = html`<header><h1>${title}</h1>
<p class="where">${joined([id, range !== '' && `calls${range}`, timeHtml(made)], ' · ')}</p></header><main>
${impactSections(impact)}
</main><footer>voxform ${voxform_version}</footer>`;
  return htmlPage({ title, body });
}

/** The same without a head, for a page with its own. */
export function impactSections({ document, overTime }: Impact): Html {
  const { versions, notes } = document;
  const plots = shareFields.flatMap((field) => {
    const values = valuesOf(field, versions);
    if (values.length === 0) return [];
    const figures = values.map(
      (value) =>
        html`<figure><figcaption>${value}</figcaption>${sharePlot({ field, value, versions, ...overTime })}</figure>`,
    );
    return [html`<h4><code>${field}</code></h4><div class="plots">${figures}</div>`];
  });
  const heading = html`<h3>Shares over time <small>with their 95% intervals; a dashed line is a publication</small></h3>`;
  return html`${comparedHtml(document)}
<h3>Versions</h3>${versionsHtml(document)}
${plots.length > 0 && [heading, plots]}
<h3>Notes</h3><ul>${notes.map((note) => html`<li>${note}</li>`)}</ul>`;
}

function comparedHtml(impact: ImpactDocument): Html {
  const compared = comparisonOf(impact);
  if (typeof compared === 'string') return html`<p class="summary">${compared}</p>`;
  const { from, to } = compared;
  const rows = comparedRows(compared, impact.versions).map(({ title, before, after, said, difference }) => ({
    cells: [
      html`<span class="mono">${title}</span>`,
      before,
      after,
      isClear(difference) ? html`<strong>${said}</strong>` : html`<span class="faint">${said}</span>`,
    ],
  }));
  const titles = ['Figure', `Version ${from}`, `Version ${to}`, 'Difference (95% interval)'];
  return html`<h3>Version ${from} to version ${to}</h3>${recordsHtml(titles, rows, true)}`;
}

function versionsHtml({ versions }: ImpactDocument): Html {
  const figures = versions.map((each) => ({
    cells: [
      `v${each.version}`,
      each.published_at.slice(0, 19).replace('T', ' '),
      each.calls.toLocaleString('en'),
      ...measures.map((measure) => quantilesText(each, measure)),
    ],
  }));
  const newest = versions.slice(-MOST_COLUMNS);
  const shares = shareFields.flatMap((field) =>
    valuesOf(field, newest).map((value) => ({
      cells: [
        html`<span class="mono">${`${field}=${value}`}</span>`,
        ...newest.map((each) => shareText(each, field, value)),
      ],
    })),
  );
  const titles = ['Share', ...newest.map(({ version }) => `Version ${version}`)];
  return html`${recordsHtml(['Version', 'Published', 'Calls', ...measures], figures, true)}${recordsHtml(titles, shares, true)}`;
}
