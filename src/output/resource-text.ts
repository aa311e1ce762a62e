import type { Action, PlannedResource } from '../engine/plan-document.ts';
import { type FieldViewOptions, fieldViews } from './field-view.ts';
import { renderFields } from './fields-text.ts';
import { routeRemarks } from './route-words.ts';
import type { Format, Style } from './style.ts';
import { displayWidth, pad } from './text-width.ts';
import { visible } from './visible.ts';

/** Resources under one heading. */
export interface ResourceGroup {
  readonly heading: string;
  readonly explanation?: string | undefined;
  readonly symbol: string;
  /** Whose colour the symbol has. */
  readonly colorOf: Action;
  readonly resources: readonly PlannedResource[];
  /** True where the heading, or its lines, say of a resource already why it is there. */
  isPlain(resource: PlannedResource): boolean;
}

export interface ResourceTextOptions {
  readonly style: Style;
  readonly views: FieldViewOptions;
}

/** Columns before an address, and before what is said of its resource. */
const symbolWidth = 3;
export const detailIndent = 6;

/** A heading with its count and what all its resources have in common, then the resources; empty where there are none. */
export function renderGroup(group: ResourceGroup, { style, views }: ResourceTextOptions): string {
  const { heading, resources, isPlain } = group;
  const shared = views.verbose || resources.every(isPlain) ? undefined : sharedReason(resources);
  const explanation = group.explanation ?? shared;
  const title = style.prose(explanation ?? '', {
    lead: `${style.bold(`${heading} (${resources.length})`)}${explanation === undefined ? '' : ': '}`,
    format: style.dim,
  });
  const blocks = resources.map((resource) => {
    const says = views.verbose || (resource.reason !== explanation && !isPlain(resource));
    return renderResource(resource, group, { style, views, says });
  });
  if (blocks.length === 0) return '';
  const airy = blocks.some((block) => block.includes('\n'));
  return [title, ...(airy ? [''] : []), blocks.join(airy ? '\n\n' : '\n')].join('\n');
}

function sharedReason(resources: readonly PlannedResource[]): string | undefined {
  const reasons = new Set(resources.map(({ reason }) => reason));
  const [reason = ''] = reasons;
  // A longer one would read as a paragraph of the heading.
  return reasons.size === 1 && reason !== '' && reason.length <= 90 ? reason : undefined;
}

interface Saying extends ResourceTextOptions {
  /** Whether the reason is said. */
  readonly says: boolean;
}

function renderResource(
  resource: PlannedResource,
  group: ResourceGroup,
  { style, views, says }: Saying,
): string {
  const { reason, steps = [], released = [], notices = [] } = resource;
  const remark = (text: string) => renderRemark(text, style);
  return [
    headLine(resource, group, style),
    ...(says && reason !== '' ? [remark(reason)] : []),
    ...renderFields(fieldViews(resource, views), style, detailIndent),
    ...(released.length > 0 ? [remark(`no longer managed: ${released.join(', ')}`)] : []),
    ...routeRemarks(resource, views).map(remark),
    ...notices.map((notice) => renderRemark(notice, style, style.warn)),
    ...steps.map((step) => style.prose(step, { indent: detailIndent, lead: '[ ] ' })),
  ].join('\n');
}

/** What is said of a resource, told from its fields by the mark that begins a comment in a manifest. */
export function renderRemark(text: string, style: Style, format: Format = style.dim): string {
  return style.prose(text, { indent: detailIndent, lead: format('# '), format });
}

/** Symbol, address, marks, id and source; what does not fit on a line of its own. */
export function headLine(
  resource: PlannedResource,
  { symbol, colorOf }: Pick<ResourceGroup, 'symbol' | 'colorOf'>,
  style: Style,
): string {
  const { action, address, id, source, adopted, previous_address: previous } = resource;
  const color = style.action[colorOf];
  const marks = [
    adopted && action !== 'adopt' ? 'adopted' : undefined,
    previous === undefined ? undefined : `was ${visible(previous)}`,
  ].filter((mark) => mark !== undefined);
  const rest = [
    ...(marks.length === 0 ? [] : [color(`(${marks.join(', ')})`)]),
    ...(id === null ? [] : [style.dim(visible(id))]),
    ...(source === null ? [] : [style.dim(`${visible(source.file)}:${source.line}`)]),
  ];
  const lines = [`${color(pad(symbol, symbolWidth, 'right'))} ${style.bold(visible(address))}`];
  for (const part of rest) {
    const longer = `${lines.at(-1)}  ${part}`;
    if (displayWidth(longer) <= style.width) lines.splice(-1, 1, longer);
    else lines.push(' '.repeat(detailIndent) + part);
  }
  return lines.join('\n');
}
