import type { Action } from '../../engine/plan/plan-actions.ts';
import type { PlannedChange, PlannedResource } from '../../engine/plan/plan-document.ts';
import { kindOf } from '../../manifests/resource.ts';
import { linkHost } from '../../project/dashboard-address.ts';
import { listed } from '../address-list.ts';
import { type Statement, statementOf } from '../compact.ts';
import { type FieldBody, type FieldView, type FieldViewOptions, fieldViews } from '../field-view.ts';
import { plural } from '../plural.ts';
import type { Outcome, ReportGroup } from '../report.ts';
import { routeRemarks } from '../route-words.ts';
import type { DiffLine } from '../text-diff.ts';
import { kindClass } from './colors.ts';
import { type Html, html, joined } from './html.ts';
import { recordsHtml } from './page.ts';

type Tone = 'good' | 'change' | 'bad' | 'ask' | 'odd' | 'faint';

export const toneOf: Readonly<Record<Action, Tone>> = {
  create: 'good',
  adopt: 'ask',
  update: 'change',
  replace: 'odd',
  forget: 'bad',
  manual: 'ask',
  blocked: 'bad',
  unknown: 'odd',
  noop: 'faint',
};

export function addressHtml(address: string): Html {
  const kind = kindOf(address);
  return html`<code><span class="kind ${kindClass(kind)}">${kind}</span>${address.slice(kind.length)}</code>`;
}

/** Returns a link to the dashboard, named after its host, or nothing if the URL is not http or https. */
export function dashboardLink(url: string | undefined): Html {
  const host = linkHost(url);
  return host === undefined ? html`` : html`<a href="${url}" rel="noopener noreferrer">${host}</a>`;
}

export function addressesHtml(resources: readonly Pick<PlannedResource, 'address' | 'url'>[]): Html {
  return html`<ul class="addresses">${resources.map(
    ({ address, url }) => html`<li>${joined([addressHtml(address), dashboardLink(url)], ' ')}</li>`,
  )}</ul>`;
}

/** Returns a collapsible element for the resources of a statement. Its content is the reason, the changes and the steps. */
export function resourceHtml(
  statement: Statement,
  group: ReportGroup,
  { outcome, isOpen }: { readonly outcome: Outcome | undefined; readonly isOpen: boolean },
): Html {
  const { resources, fields } = statement;
  const [resource] = resources;
  if (resource === undefined) return html``;
  const isOne = resources.length === 1;
  const { address, adopted, action, source, id, url, changes } = resource;
  const marks = [
    outcome?.word,
    adopted && action !== 'adopt' && 'imported',
    rowMarks(statement),
    isOne && source !== null && `${source.file}:${source.line}`,
  ];
  const isDrifted = fields.some(({ path }) =>
    changes.some((change) => change.path === path && change.cause !== 'manifest'),
  );
  const tone = toneOf[group.colorOf];
  const content = [
    !isOne && addressesHtml(resources),
    outcome?.details.map((text) => html`<p class="${tone}">${text}</p>`),
    isOne && id !== null && html`<p class="faint">id <code>${id}</code></p>`,
    isOne && url !== undefined && html`<p>${dashboardLink(url)}</p>`,
    contentHtml(statement),
  ];
  return html`<details class="resource" data-item="${group.key}"${isOpen && html` open`}><summary><span class="symbol ${tone}" aria-hidden="true">${group.symbol}</span><span class="address">${isOne ? addressHtml(address) : `${resources.length} resources`}</span>${isDrifted && html`<span class="note">drifted</span>`}<span class="faint">${joined(marks, ' · ')}</span></summary><div class="content">${content}</div></details>`;
}

const NAMED_FIELDS = 3;

/** Returns the summary of a folded resource: the former address, and the names of changed fields. */
function rowMarks({ resources, fields, notices }: Statement): string {
  const [resource] = resources;
  const previous = resources.length === 1 ? resource?.previous_address : undefined;
  const paths = [...new Set(fields.map(({ path }) => path))];
  const named = paths.length === 0 ? notices[0] : listed(paths, NAMED_FIELDS);
  const changed = resource?.action === 'create' ? plural(resource.changes.length, 'field') : named;
  return [previous && `was ${previous}`, changed].filter(Boolean).join(' · ');
}

/** Returns the reason, the fields, and then the other remarks. */
function contentHtml(statement: Statement): Html {
  const { resources, reason, elsewhere, notices, steps, released, fields } = statement;
  const only = resources.length === 1 ? resources[0] : undefined;
  const { unverified = [], not_applied: kept = [] } = only ?? {};
  const reasons = [
    reason,
    elsewhere > 0 && `plus ${plural(elsewhere, 'change')} above, shared with others`,
    ...routeRemarks(statement, { verbose: only !== undefined }),
  ];
  const remarks = [
    ...notices,
    released.length > 0 && `no longer managed: ${released.join(', ')}`,
    kept.length > 0 && `not applied by the platform: ${kept.join(', ')}`,
    unverified.length > 0 &&
      `not returned by the platform, compared with the values last sent: ${unverified.join(', ')}`,
  ];
  const sentence = (text: string | false) => text !== false && text !== '' && html`<p>${text}</p>`;
  const list = html`<p>Manual steps:</p><ul>${steps.map((step) => html`<li>${step}</li>`)}</ul>`;
  return html`${reasons.map(sentence)}${fields.map(fieldHtml)}${remarks.map(sentence)}${steps.length > 0 && list}`;
}

/** The maximum number of lines of a new string that is not folded. */
const MAX_UNFOLDED_LINES = 15;

const NO_PLAN: PlannedResource = {
  ...{ address: '', kind: '', action: 'update', id: '', source: null, reason: '', changes: [], depends_on: [] },
};

/** Returns the markup of changes that are not part of a plan. */
export function changesOnly(changes: readonly PlannedChange[], secrets: FieldViewOptions['secrets']): Html[] {
  return fieldViews({ ...NO_PLAN, changes }, { secrets, verbose: false, wholeTexts: true }).map(fieldHtml);
}

/** Returns a field with its values, or with a diff for a long string. */
function fieldHtml({ path, body, notes }: FieldView): Html {
  const isShort = body.form === 'value' || body.form === 'change';
  return html`<div class="field${isShort && ' short'}"><div><code class="path">${path}</code>${notes.map((note) => html` <span class="note">${note}</span>`)}</div>${bodyHtml(body)}</div>`;
}

function bodyHtml(body: FieldBody): Html {
  switch (body.form) {
    case 'value':
      return html`<span class="value mono"><ins>${body.after}</ins></span>`;
    case 'change':
      return html`<span class="value mono"><del>${body.before}</del><span class="arrow" aria-label="becomes">→</span><ins>${body.after}</ins></span>`;
    case 'text': {
      const { before, lines, more } = body;
      const oldValue = before !== undefined && html`<span class="value mono"><del>${before}</del></span>`;
      const text = html`<pre>${lines.map((line) => html`<span class="line">${line}</span>`)}</pre>${more > 0 && html`<p class="faint">${more} more lines</p>`}`;
      return lines.length <= MAX_UNFOLDED_LINES
        ? html`${oldValue}${text}`
        : html`${oldValue}<details class="more"><summary>${lines.length} lines</summary>${text}</details>`;
    }
    case 'diff':
      return html`<pre>${body.lines.map(lineHtml)}</pre>`;
    default:
      return body satisfies never;
  }
}

function lineHtml({ sign, text, words = [{ text, changed: false }] }: DiffLine): Html {
  if (sign === '@' || sign === '~') return html`<span class="line place">${text}</span>`;
  if (sign === ' ') return html`<span class="line">  ${text}</span>`;
  const isNew = sign === '+';
  const marked = words.map((word) =>
    word.changed ? (isNew ? html`<ins>${word.text}</ins>` : html`<del>${word.text}</del>`) : word.text,
  );
  return html`<span class="line ${isNew ? 'came' : 'went'}">${sign} ${marked}</span>`;
}

const MIN_LISTED = 12;

/** Returns the imports and unchanged resources, if there are enough for a table. */
export function listedInTable(resources: readonly PlannedResource[]): readonly PlannedResource[] {
  const listed = resources.filter(({ action, adopted }) => action === 'adopt' || adopted === true || action === 'noop');
  return listed.length < MIN_LISTED ? [] : listed;
}

/** Returns a table with a row for each resource. The details of each row are folded, and so is a table of unchanged resources. */
export function tableHtml(resources: readonly PlannedResource[], key: string, views: FieldViewOptions): Html {
  const rows = resources.map((resource) => {
    const { address, id, source } = resource;
    const position = source !== null && html`<code class="faint">${`${source.file}:${source.line}`}</code>`;
    const known = id !== null && html`<code>${id}</code>`;
    return {
      cells: [addressHtml(address), known, differences(statementOf(resource, views)), position],
      item: key,
    };
  });
  const isUnchanged = resources.every(({ action }) => action === 'noop');
  const table = recordsHtml(['Address', 'Id', isUnchanged ? 'Notes' : 'Differs', 'Source'], rows);
  if (!isUnchanged) return table;
  return html`<details class="more" data-group><summary>${resources.length} resources</summary>${table}</details>`;
}

function differences(statement: Statement): Html | '' {
  const [{ unverified = [] } = {}] = statement.resources;
  const summary = rowMarks(statement) || (unverified.length > 0 && `${plural(unverified.length, 'field')} unverified`);
  return summary ? html`<details class="more"><summary>${summary}</summary>${contentHtml(statement)}</details>` : '';
}
