import type { Impact } from '../../runs/impact/measure-impact.ts';
import { shareFields } from '../../runs/impact/tally.ts';
import { comparisonTable, impactTables, rangeText, valuesOf } from '../impact-text.ts';
import { type Html, html, joined } from './html.ts';
import { htmlPage, recordsHtml, timeHtml } from './page.ts';
import { sharePlot } from './share-plot.ts';

/** Returns a page about the effect of the versions on calls, with a plot of each share. */
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

/** Returns the content of the `impactHtml` page without its head, for a page with its own head. */
export function impactSections({ document, overTime }: Impact): Html {
  const { versions, notes } = document;
  const plots = shareFields.flatMap((field) => {
    const values = valuesOf(field, versions);
    if (values.length === 0) return [];
    const drawn = (value: string) => sharePlot({ field, value, versions, ...overTime });
    const figures = values.map((value) => html`<figure><figcaption>${value}</figcaption>${drawn(value)}</figure>`);
    return [html`<h4><code>${field}</code></h4><div class="plots">${figures}</div>`];
  });
  const heading = html`<h3>Shares over time <small>with their 95% intervals; a dashed line is a publication</small></h3>`;
  const compared = comparisonTable(document);
  const table = ({ columns, rows, clear }: ReturnType<typeof impactTables>[number]) => {
    const marked = (row: readonly string[]) => {
      const last = row.at(-1);
      const isClear = clear?.has(row);
      return [...row.slice(0, -1), isClear ? html`<strong>${last}</strong>` : html`<span class="faint">${last}</span>`];
    };
    const titles = columns.map(({ title }) => title);
    return recordsHtml(
      titles,
      rows.map((row) => ({ cells: clear ? marked(row) : row })),
      true,
    );
  };
  const titled = (each: ReturnType<typeof impactTables>[number]) => html`<h4>${each.title}</h4>${table(each)}`;
  return html`${typeof compared === 'string' ? html`<p class="summary">${compared}</p>` : html`<h3>${compared.title}</h3>${table(compared)}`}
${impactTables(document, 'utc').map(titled)}
${plots.length > 0 && [heading, plots]}
<h3>Notes</h3><ul>${notes.map((note) => html`<li>${note}</li>`)}</ul>`;
}
