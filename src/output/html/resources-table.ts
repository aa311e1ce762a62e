import type { PlannedResource } from '../../engine/plan/plan-document.ts';
import { type Statement, statementOf } from '../compact.ts';
import type { FieldViewOptions } from '../field-view.ts';
import { escapeMarkup } from '../markup.ts';
import { plural } from '../plural.ts';
import { addressHtml } from './address-html.ts';
import { recordsHtml } from './page.ts';
import { contentHtml, rowMarks } from './resource-html.ts';

const FEWEST_LISTED = 12;

/** Those that are adopted or unchanged, if they are so many that a row of a table is enough for each. */
export function listedInTable(resources: readonly PlannedResource[]): readonly PlannedResource[] {
  const listed = resources.filter(
    ({ action, adopted }) => action === 'adopt' || adopted === true || action === 'noop',
  );
  return listed.length < FEWEST_LISTED ? [] : listed;
}

/** A row for each record; where there is more to say of one, it folds out. The table of those that are unchanged does too. */
export function tableHtml(
  resources: readonly PlannedResource[],
  { key, views }: { readonly key: string; readonly views: FieldViewOptions },
): string {
  const rows = resources.map((resource) => {
    const { address, id, source } = resource;
    const place =
      source === null ? '' : `<code class="faint">${escapeMarkup(`${source.file}:${source.line}`)}</code>`;
    const known = id === null ? '' : `<code>${escapeMarkup(id)}</code>`;
    return {
      cells: [addressHtml(address), known, differences(statementOf(resource, views)), place],
      item: key,
    };
  });
  const isUnchanged = resources.every(({ action }) => action === 'noop');
  const table = recordsHtml(['Address', 'Id', isUnchanged ? 'Notes' : 'Differs', 'Source'], rows);
  if (!isUnchanged) return table;
  return `<details class="more" data-group><summary>${resources.length} resources</summary>${table}</details>`;
}

function differences(said: Statement): string {
  const [{ unverified = [] } = {}] = said.resources;
  const summary =
    rowMarks(said) || (unverified.length === 0 ? '' : `${plural(unverified.length, 'field')} unverified`);
  return summary === ''
    ? ''
    : `<details class="more"><summary>${escapeMarkup(summary)}</summary>${contentHtml(said)}</details>`;
}
