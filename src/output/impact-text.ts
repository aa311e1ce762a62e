import type { ImpactDocument } from '../runs/impact/impact-document.ts';
import { measures, shareFields } from '../runs/impact/tally.ts';
import { escapeControls } from './escape-controls.ts';
import { comparedRows, comparisonOf, quantilesText, rangeText, shareText, valuesOf } from './impact-words.ts';
import { timeText } from './records/record-values.ts';
import { bullets, paragraphs, type Style } from './style.ts';
import { type Column, renderTable } from './table.ts';

const NUMBER = { align: 'right', whole: true } as const;

/** What the versions did to the calls, for a person to read. */
export function impactText(impact: ImpactDocument, style: Style): string {
  const { address, id, versions, notes } = impact;
  const compared = comparisonOf(impact);
  const range = rangeText(impact);
  const table = (columns: readonly Column[], rows: readonly (readonly string[])[]) =>
    renderTable(columns, rows, style).trimEnd();
  const figures = table(
    [
      { title: 'VERSION', ...NUMBER },
      { title: 'PUBLISHED', whole: true },
      { title: 'CALLS', ...NUMBER },
    ],
    versions.map((each) => [
      String(each.version),
      timeText(each.published_at, 'local'),
      each.calls.toLocaleString('en'),
    ]),
  );
  const quantiles = table(
    [
      { title: 'VERSION', ...NUMBER },
      ...measures.map((measure) => ({ title: measure.toUpperCase(), ...NUMBER })),
    ],
    versions.map((each) => [
      String(each.version),
      ...measures.map((measure) => quantilesText(each, measure)),
    ]),
  );
  const shares = shareFields.flatMap((field) => {
    const values = valuesOf(field, versions);
    if (values.length === 0) return [];
    const columns = values.map((value) => ({ title: escapeControls(value), align: 'right' as const }));
    const rows = versions.map((each) => [
      String(each.version),
      ...values.map((value) => shareText(each, field, value)),
    ]);
    return `${style.bold(field)}\n${table([{ title: 'VERSION', ...NUMBER }, ...columns], rows)}`;
  });
  return paragraphs([
    style.prose(range === '' ? id : `${id}, calls${range}`, {
      lead: `${style.bold(escapeControls(address))}  `,
      format: style.dim,
    }),
    figures,
    ...shares,
    `${style.bold('median, 95th percentile')}\n${quantiles}`,
    typeof compared === 'string'
      ? style.prose(compared)
      : `${style.bold(`Version ${compared.from} to version ${compared.to}`)}\n${table(
          [
            { title: 'FIGURE' },
            { title: 'BEFORE', ...NUMBER },
            { title: 'AFTER', ...NUMBER },
            { title: 'DIFFERENCE (95% INTERVAL)' },
          ],
          comparedRows(compared, versions).map(({ title, before, after, said }) => [
            title,
            before,
            after,
            said,
          ]),
        )}`,
    bullets('Notes', notes, style),
  ]);
}
