import type { PlannedResource } from '../../engine/plan/plan-document.ts';
import { type Statement, statementOf } from '../compact.ts';
import type { FieldViewOptions } from '../field-view.ts';
import { escapeMarkup } from '../markup.ts';
import { addressHtml } from './address-html.ts';
import { contentHtml, rowMarks } from './resource-html.ts';

/** From so many on they are a table. */
const FEWEST_LISTED = 12;

/** Those that are taken under management, if they are so many that a row of a table is enough for each. */
export function listedAdoptions(resources: readonly PlannedResource[]): readonly PlannedResource[] {
  const adopted = resources.filter((each) => each.action === 'adopt' || each.adopted === true);
  return adopted.length < FEWEST_LISTED ? [] : adopted;
}

/** A row for each record; where one differs from its manifest, the fields fold out. */
export function adoptionsHtml(
  resources: readonly PlannedResource[],
  { key, views }: { readonly key: string; readonly views: FieldViewOptions },
): string {
  const rows = resources.map((resource) => {
    const { address, id, source } = resource;
    const place = source === null ? '' : `${source.file}:${source.line}`;
    return [
      addressHtml(address),
      `<code>${escapeMarkup(id ?? '')}</code>`,
      differences(statementOf(resource, views)),
      `<code class="faint">${escapeMarkup(place)}</code>`,
    ];
  });
  const isFilled = [0, 1, 2, 3].map((column) => rows.some((cells) => cells[column] !== ''));
  const row = (tag: 'th' | 'td', cells: readonly string[]) =>
    cells
      .filter((_, column) => isFilled[column])
      .map((cell) => `<${tag}>${cell}</${tag}>`)
      .join('');
  return [
    `<div class="listed"><table class="records"><thead><tr>${row('th', ['Address', 'Id', 'Differs', 'Source'])}</tr></thead><tbody>`,
    ...rows.map((cells) => `<tr data-item="${escapeMarkup(key)}">${row('td', cells)}</tr>`),
    '</tbody></table></div>',
  ].join('\n');
}

function differences(said: Statement): string {
  const summary = rowMarks(said);
  return summary === ''
    ? ''
    : `<details class="more"><summary>${escapeMarkup(summary)}</summary>${contentHtml(said)}</details>`;
}
