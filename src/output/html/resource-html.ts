import type { Action, PlannedResource } from '../../engine/plan-document.ts';
import { plural } from '../action-words.ts';
import { type FieldViewOptions, fieldViews } from '../field-view.ts';
import { escapeMarkup } from '../markup.ts';
import { routeRemarks } from '../route-words.ts';
import { fieldHtml } from './field-html.ts';

/** What became of a resource, or what is to be said of it before everything else. */
export interface Outcome {
  readonly word: string;
  readonly tone: Tone;
  /** Paragraphs of plain text. */
  readonly said: readonly string[];
}

export type Tone = 'good' | 'change' | 'bad' | 'ask' | 'odd' | 'faint';

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

export interface ResourceHtmlOptions {
  /** Of the group that it stands in. */
  readonly group: { readonly key: string; readonly symbol: string; readonly tone: Tone };
  readonly views: FieldViewOptions;
  readonly outcome: Outcome | undefined;
}

/** A resource, folded: its address and how much changes, and inside why, what and by whom. */
export function resourceHtml(
  resource: PlannedResource,
  { group, views, outcome }: ResourceHtmlOptions,
): string {
  const { address, adopted, action, source, id, changes, previous_address: previous } = resource;
  const marks = [
    outcome?.word,
    adopted && action !== 'adopt' ? 'adopted' : undefined,
    previous === undefined ? undefined : `was ${previous}`,
    changes.length === 0 ? undefined : plural(changes.length, 'field'),
    source === null ? undefined : `${source.file}:${source.line}`,
  ].filter((mark) => mark !== undefined);
  const tone = outcome?.tone ?? group.tone;
  return [
    `<details class="resource" data-item="${escapeMarkup(group.key)}"><summary>`,
    `<span class="symbol ${tone}" aria-hidden="true">${escapeMarkup(group.symbol)}</span>`,
    `<span class="address">${escapeMarkup(address)}</span>`,
    `<span class="faint">${marks.map(escapeMarkup).join(' · ')}</span></summary><div class="content">`,
    ...(outcome?.said ?? []).map((text) => `<p class="${outcome?.tone}">${escapeMarkup(text)}</p>`),
    ...remarks(resource),
    ...(id === null ? [] : [`<p class="faint">id <code>${escapeMarkup(id)}</code></p>`]),
    ...fieldViews(resource, views).map(fieldHtml),
    '</div></details>',
  ].join('');
}

function remarks(resource: PlannedResource): string[] {
  const {
    reason,
    notices = [],
    steps = [],
    released = [],
    unverified = [],
    not_applied: kept = [],
  } = resource;
  const sentences = [
    ...(reason === '' ? [] : [reason]),
    ...routeRemarks(resource, { verbose: true }),
    ...notices,
    ...(released.length === 0 ? [] : [`no longer managed: ${released.join(', ')}`]),
    ...(kept.length === 0 ? [] : [`not applied by the platform: ${kept.join(', ')}`]),
    ...(unverified.length === 0
      ? []
      : [`not shown by the platform, so compared with memory: ${unverified.join(', ')}`]),
  ];
  const list = steps.map((step) => `<li>${escapeMarkup(step)}</li>`).join('');
  return [
    ...sentences.map((sentence) => `<p>${escapeMarkup(sentence)}</p>`),
    ...(list === '' ? [] : [`<p>To be done by hand:</p><ul>${list}</ul>`]),
  ];
}
