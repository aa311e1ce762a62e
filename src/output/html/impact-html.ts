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
} from '../impact-words.ts';
import { escapeMarkup } from '../markup.ts';
import { htmlPage, recordsHtml, timeHtml } from './page.ts';
import { sharePlot } from './share-plot.ts';

/** The newest versions have a column each, as far as a page has room for them; the plots and JSON have all. */
const MOST_COLUMNS = 5;

/** What the versions did to the calls, with a plot of each share over time, as a page of its own. */
export function impactHtml(impact: Impact, made: Date): string {
  const { address, id, voxform_version } = impact.document;
  const range = rangeText(impact.document);
  const where = [escapeMarkup(id), range === '' ? '' : `calls${escapeMarkup(range)}`, timeHtml(made)];
  const body = [
    `<header><h1>voxform impact: ${escapeMarkup(address)}</h1>`,
    `<p class="where">${where.filter(Boolean).join(' · ')}</p></header><main>`,
    impactSections(impact),
    `</main><footer>voxform ${escapeMarkup(voxform_version)}</footer>`,
  ];
  return htmlPage({ title: `voxform impact: ${address}`, body: body.join('\n') });
}

/** The same without a head, for a page that has its own. */
export function impactSections({ document, overTime }: Impact): string {
  const { versions, notes } = document;
  const plots = shareFields.flatMap((field) => {
    const values = valuesOf(field, versions);
    if (values.length === 0) return [];
    const drawn = values.map(
      (value) =>
        `<figure><figcaption>${escapeMarkup(value)}</figcaption>${sharePlot({ field, value, versions, ...overTime })}</figure>`,
    );
    return [`<h4><code>${field}</code></h4><div class="plots">${drawn.join('')}</div>`];
  });
  return [
    comparedHtml(document),
    `<h3>Versions</h3>${versionsHtml(document)}`,
    ...(plots.length === 0
      ? []
      : [
          '<h3>Shares over time <small>with their 95% intervals; a dashed line is a publication</small></h3>',
          ...plots,
        ]),
    `<h3>Notes</h3><ul>${notes.map((note) => `<li>${escapeMarkup(note)}</li>`).join('')}</ul>`,
  ].join('\n');
}

function comparedHtml(impact: ImpactDocument): string {
  const compared = comparisonOf(impact);
  if (typeof compared === 'string') return `<p class="summary">${escapeMarkup(compared)}</p>`;
  const rows = comparedRows(compared, impact.versions).map(({ title, before, after, said, difference }) => ({
    cells: [
      `<span class="mono">${escapeMarkup(title)}</span>`,
      escapeMarkup(before),
      escapeMarkup(after),
      isClear(difference)
        ? `<strong>${escapeMarkup(said)}</strong>`
        : `<span class="faint">${escapeMarkup(said)}</span>`,
    ],
  }));
  const titles = [
    'Figure',
    `Version ${compared.from}`,
    `Version ${compared.to}`,
    'Difference (95% interval)',
  ];
  return `<h3>Version ${compared.from} to version ${compared.to}</h3>${recordsHtml(titles, rows, true)}`;
}

function versionsHtml({ versions }: ImpactDocument): string {
  const figures = versions.map((each) => ({
    cells: [
      `v${each.version}`,
      escapeMarkup(each.published_at.slice(0, 19).replace('T', ' ')),
      each.calls.toLocaleString('en'),
      ...measures.map((measure) => quantilesText(each, measure)),
    ],
  }));
  const newest = versions.slice(-MOST_COLUMNS);
  const shares = shareFields.flatMap((field) =>
    valuesOf(field, newest).map((value) => ({
      cells: [
        `<span class="mono">${escapeMarkup(`${field}=${value}`)}</span>`,
        ...newest.map((each) => shareText(each, field, value)),
      ],
    })),
  );
  const titles = ['Share', ...newest.map(({ version }) => `Version ${version}`)];
  return `${recordsHtml(['Version', 'Published', 'Calls', ...measures], figures, true)}${recordsHtml(titles, shares, true)}`;
}
