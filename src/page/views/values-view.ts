import { escapedLines } from '../../output/escape-controls.ts';
import { type Html, html } from '../../output/html/html.ts';
import { valueText, withoutForms } from '../../output/value-text.ts';
import { yamlText } from '../../output/yaml-text.ts';
import { commandFor } from '../../problems/workspace-command.ts';
import type { Json } from '../../values/json.ts';
import type { ComparedField, FieldSide, ResourceDetail, WorkspaceDetail } from '../page-data.ts';
import { isolate, truncate } from './parts.ts';

/** Returns declared and live values side by side. Fields in sync are folded. */
export function valuesSection(
  { selection, externalLocation }: WorkspaceDetail,
  parts: ResourceDetail | undefined,
  asOf: Html,
): Html {
  if (parts === undefined) return html``;
  const { fields, isComplete } = parts;
  const differing = fields.filter(({ changedBy }) => changedBy !== undefined);
  const same = fields.filter(({ changedBy }) => changedBy === undefined);
  const command = html`<code>${commandFor('voxform get', selection)}</code>`;
  const incompleteNote =
    externalLocation === undefined
      ? ''
      : html`<p class="where">Only fields that differ are listed, because the page cannot read the state ${isolate(externalLocation)}. ${command} prints the records of the platform.</p>`;
  if (fields.length === 0 && isComplete) return html``;
  return html`<section id="values" data-live><h2>Values${asOf}</h2>${isComplete ? '' : incompleteNote}
${differing.length === 0 ? html`<p class="empty">${isComplete ? 'Declared and live values are equal.' : 'No field differs.'}</p>` : fieldsTable(differing, true)}
${same.length === 0 ? '' : html`<details class="group"><summary><strong>${same.length} ${differing.length === 0 ? '' : 'other '}${same.length === 1 ? 'field' : 'fields'}</strong> <span class="faint">in sync</span></summary>${fieldsTable(same)}</details>`}</section>`;
}

const changedByWords = { manifest: 'manifest', drift: 'platform', both: 'both' } as const;

/** Returns a table of fields, without the last column if no field changed. @param isOpen true to unfold long values. */
function fieldsTable(fields: readonly ComparedField[], isOpen = false): Html {
  const hasChanges = fields.some(({ changedBy }) => changedBy !== undefined);
  const row = ({ path, declared, live, changedBy, lastApplied, notes }: ComparedField) => html`<tr>
<td><code class="path">${path}</code>${notes.map((note) => html`<div class="note">${note}</div>`)}</td>
<td class="text" data-title="Declared">${sideHtml(declared, isOpen)}${lastApplied && html`<div class="faint">last applied: ${sideHtml(lastApplied)}</div>`}</td>
<td class="text" data-title="Live">${live === undefined ? html`<span class="faint">equal</span>` : sideHtml(live, isOpen)}</td>
${hasChanges && html`<td data-title="Changed by">${changedBy && html`<span class="badge change">${changedByWords[changedBy]}</span>`}</td>`}</tr>`;
  return html`<table class="rows values"><thead><tr><th scope="col">Field</th><th scope="col">Declared</th><th scope="col">Live</th>${hasChanges && html`<th scope="col">Changed by</th>`}</tr></thead>
<tbody>${fields.map(row)}</tbody></table>`;
}

/** The maximum number of characters of a value. The manifest contains the whole value. */
const MAX_VALUE_LENGTH = 20_000;
/** The maximum number of characters of a value on one line. */
const MAX_LINE_LENGTH = 200;

function sideHtml(side: FieldSide, isOpen = false): Html {
  if ('words' in side) return html`<span class="faint">${side.words}</span>`;
  const text = truncate(textOf(side.value), MAX_VALUE_LENGTH);
  if (!text.includes('\n') && text.length <= MAX_LINE_LENGTH) return html`<code>${text}</code>`;
  const lines = escapedLines(text);
  const head = typeof side.value === 'string' ? truncate(lines[0] ?? '', 60) : 'value';
  return html`<details class="more"${isOpen && html` open`}><summary>${head} <span class="faint">${lines.length > 1 ? `${lines.length} lines` : `${text.length} characters`}</span></summary><pre tabindex="0">${lines.map((line) => html`<span class="line">${line}</span>`)}</pre></details>`;
}

/** Returns multi-line strings unchanged, and other values on one line, or as YAML if the line is too long. */
function textOf(value: Json): string {
  if (typeof value === 'string' && value.includes('\n')) return value;
  const text = valueText(value);
  return text.length <= MAX_LINE_LENGTH || typeof value !== 'object' ? text : yamlText(withoutForms(value)).trimEnd();
}
