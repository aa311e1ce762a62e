import type { Action } from '../../engine/plan/plan-actions.ts';
import type { PlannedResource } from '../../engine/plan/plan-document.ts';
import { listed } from '../address-list.ts';
import type { Statement } from '../compact.ts';
import { escapeMarkup } from '../markup.ts';
import { plural } from '../plural.ts';
import type { Outcome, ReportGroup } from '../report.ts';
import { routeRemarks } from '../route-words.ts';
import { addressHtml, dashboardLink } from './address-html.ts';
import { fieldHtml } from './field-html.ts';

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

interface ResourceOptions {
  readonly outcome: Outcome | undefined;
  readonly isOpen: boolean;
}

/** A resource, or several that share a statement: its address and changed fields, and inside the reason, the changes and the steps. */
export function resourceHtml(
  said: Statement,
  group: ReportGroup,
  { outcome, isOpen }: ResourceOptions,
): string {
  const { resources, fields } = said;
  const [resource] = resources;
  if (resource === undefined) return '';
  const isOne = resources.length === 1;
  const { address, adopted, action, source, id, changes } = resource;
  const marks = [
    outcome?.word,
    adopted && action !== 'adopt' ? 'adopted' : undefined,
    rowMarks(said) || undefined,
    source === null || !isOne ? undefined : `${source.file}:${source.line}`,
  ].filter((mark) => mark !== undefined);
  const drifted = fields.some(({ path }) =>
    changes.some((change) => change.path === path && change.cause !== 'manifest'),
  );
  const tone = toneOf[group.colorOf];
  return [
    `<details class="resource" data-item="${escapeMarkup(group.key)}"${isOpen ? ' open' : ''}><summary>`,
    `<span class="symbol ${tone}" aria-hidden="true">${escapeMarkup(group.symbol)}</span>`,
    `<span class="address">${isOne ? addressHtml(address) : `${resources.length} resources`}</span>`,
    ...(drifted ? ['<span class="note">drifted</span>'] : []),
    `<span class="faint">${marks.map(escapeMarkup).join(' · ')}</span></summary><div class="content">`,
    ...(isOne ? [] : [addressesHtml(resources)]),
    ...(outcome?.said ?? []).map((text) => `<p class="${tone}">${escapeMarkup(text)}</p>`),
    ...(id === null || !isOne ? [] : [`<p class="faint">id <code>${escapeMarkup(id)}</code></p>`]),
    ...(isOne && resource.url !== undefined ? [`<p>${dashboardLink(resource.url)}</p>`] : []),
    contentHtml(said),
    '</div></details>',
  ].join('');
}

/** What is known without unfolding: the former address, and which fields change. */
export function rowMarks(said: Statement): string {
  const [resource] = said.resources;
  const isOne = said.resources.length === 1;
  const was = isOne ? resource?.previous_address : undefined;
  const changed =
    resource?.action === 'create'
      ? plural(resource.changes.length, 'field')
      : (pathsOf(said) ?? said.notices[0]);
  return [...(was === undefined ? [] : [`was ${was}`]), ...(changed === undefined ? [] : [changed])].join(
    ' · ',
  );
}

/** The reason, each field, and then what else is to be known. */
export function contentHtml(said: Statement): string {
  return [...reasons(said), ...said.fields.map(fieldHtml), ...remarks(said)].join('');
}

export function addressesHtml(resources: readonly Pick<PlannedResource, 'address' | 'url'>[]): string {
  const items = resources.map(
    ({ address, url }) => `<li>${[addressHtml(address), dashboardLink(url)].join(' ').trimEnd()}</li>`,
  );
  return `<ul class="addresses">${items.join('')}</ul>`;
}

const namedFields = 3;

/** `name, role and 2 more`; undefined where no field changes. */
function pathsOf({ fields }: Statement): string | undefined {
  const paths = [...new Set(fields.map(({ path }) => path))];
  return paths.length === 0 ? undefined : listed(paths, namedFields);
}

function reasons(said: Statement): string[] {
  const { resources, reason, elsewhere } = said;
  return [
    ...(reason === '' ? [] : [reason]),
    ...(elsewhere === 0 ? [] : [`plus ${plural(elsewhere, 'change')} above, shared with others`]),
    ...routeRemarks(said, { verbose: resources.length === 1 }),
  ].map(sentenceHtml);
}

function sentenceHtml(sentence: string): string {
  return `<p>${escapeMarkup(sentence)}</p>`;
}

function remarks({ resources, notices, steps, released }: Statement): string[] {
  const only = resources.length === 1 ? resources[0] : undefined;
  const { unverified = [], not_applied: kept = [] } = only ?? {};
  const sentences = [
    ...notices,
    ...(released.length === 0 ? [] : [`no longer managed: ${released.join(', ')}`]),
    ...(kept.length === 0 ? [] : [`not applied by the platform: ${kept.join(', ')}`]),
    ...(unverified.length === 0
      ? []
      : [`not shown by the platform, compared with the values last sent: ${unverified.join(', ')}`]),
  ];
  const list = steps.map((step) => `<li>${escapeMarkup(step)}</li>`).join('');
  return [...sentences.map(sentenceHtml), ...(list === '' ? [] : [`<p>Manual steps:</p><ul>${list}</ul>`])];
}
