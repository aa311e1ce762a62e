import type { Action, PlanDocument, PlannedResource } from '../engine/plan-document.ts';
import { actionWords, byAction, planSummary, plural, shownActions } from './action-words.ts';
import { createSecretNumbers, type FieldViewOptions, fieldViews } from './field-view.ts';
import { renderFields } from './fields-text.ts';
import { renderRemarks } from './remarks-text.ts';
import { type Style, sentences } from './style.ts';
import { displayWidth, pad } from './text-width.ts';
import { visible } from './visible.ts';

export interface PlanTextOptions {
  /** Lists unchanged resources, shows long texts whole, and says why of everything. */
  readonly verbose?: boolean;
}

/** Columns before an address, and before what is said of its resource. */
const symbolWidth = 3;
const detailIndent = 6;

/** A plan for a person to read: groups by action, a line a field, what else is to be known, and a closing count. */
export function renderPlanText(
  plan: PlanDocument,
  style: Style,
  { verbose = false }: PlanTextOptions = {},
): string {
  const views: FieldViewOptions = { secrets: createSecretNumbers(), verbose };
  const of = byAction(plan.resources);
  const groups = shownActions
    .map((action) => renderGroup(action, of(action), { style, views }))
    .filter((group) => group !== '');
  const unchanged = renderUnchanged(of('noop'), style, verbose);
  const remarks = renderRemarks(plan, style, { verbose });
  const body = [...groups, unchanged, remarks].filter((part) => part !== '');
  const heading = body.length === 0 ? [] : [workspaceLine(plan, style)];
  return `${[...heading, ...body, closing(plan, style)].join('\n\n')}\n`;
}

interface Context {
  readonly style: Style;
  readonly views: FieldViewOptions;
}

function workspaceLine(plan: PlanDocument, { dim }: Style): string {
  return `Workspace ${visible(plan.workspace)} ${dim(`${visible(plan.workspace_id)} at ${visible(plan.base_url)}`)}`;
}

function renderGroup(action: Action, resources: readonly PlannedResource[], context: Context): string {
  const [first] = resources;
  if (first === undefined) return '';
  const { style } = context;
  const { heading, explanation } = actionWords[action];
  const title = style.prose(explanation ?? '', {
    lead: `${style.bold(`${heading} (${resources.length})`)}${explanation === undefined ? '' : ': '}`,
    format: style.dim,
  });
  const shared =
    resources.length > 1 &&
    resources.every(({ reason }) => reason === first.reason) &&
    !resources.every(isPlainUpdate)
      ? first.reason
      : '';
  const sharedLine = shared === '' ? [] : [style.prose(shared, { indent: detailIndent, format: style.dim })];
  const blocks = resources.map((resource) => {
    const saysMore = resource.reason !== shared && (context.views.verbose || !isPlainUpdate(resource));
    return renderResource(resource, saysMore, context);
  });
  const airy = blocks.some((block) => block.includes('\n'));
  return [title, ...sharedLine, ...(airy ? [''] : []), blocks.join(airy ? '\n\n' : '\n')].join('\n');
}

function renderResource(resource: PlannedResource, withReason: boolean, { style, views }: Context): string {
  const { reason, steps = [], released = [], notices = [] } = resource;
  const say = (text: string, lead = '') =>
    style.prose(text, { indent: detailIndent, lead, format: style.dim });
  return [
    headLine(resource, style),
    ...(withReason && reason !== '' ? [say(reason)] : []),
    ...renderFields(fieldViews(resource, views), style, detailIndent),
    ...(released.length > 0 ? [say(`no longer managed: ${released.join(', ')}`)] : []),
    ...notices.map((notice) => style.prose(notice, { indent: detailIndent, lead: style.warn('note: ') })),
    ...steps.map((step) => style.prose(step, { indent: detailIndent, lead: '[ ] ' })),
  ].join('\n');
}

/** An update whose lines already say why: its manifest changed, and nothing else did. */
function isPlainUpdate({ action, adopted, changes }: PlannedResource): boolean {
  return action === 'update' && !adopted && changes.every(({ cause }) => cause === 'manifest');
}

/** Symbol, address, marks, id and source; the source on a line of its own where it would not fit. */
function headLine(resource: PlannedResource, style: Style): string {
  const { action, address, id, source, adopted, previous_address: previous } = resource;
  const marks = [
    adopted && action !== 'adopt' ? 'adopted' : undefined,
    previous === undefined ? undefined : `was ${visible(previous)}`,
  ].filter((mark) => mark !== undefined);
  const head = [
    `${style.action[action](pad(actionWords[action].symbol, symbolWidth, 'right'))} ${style.bold(visible(address))}`,
    ...(marks.length === 0 ? [] : [style.action[action](`(${marks.join(', ')})`)]),
    ...(id === null ? [] : [style.dim(visible(id))]),
  ].join('  ');
  if (source === null) return head;
  const place = `${visible(source.file)}:${source.line}`;
  const fits = displayWidth(head) + 2 + displayWidth(place) <= style.width;
  return `${head}${fits ? '  ' : `\n${' '.repeat(detailIndent)}`}${style.dim(place)}`;
}

/** Unchanged resources: those that were renamed always, the others only where all is to be shown. */
function renderUnchanged(resources: readonly PlannedResource[], style: Style, verbose: boolean): string {
  const shown = resources.filter(({ previous_address: previous }) => verbose || previous !== undefined);
  if (shown.length === 0) return '';
  const lines = shown.map((resource) => {
    const { unverified = [] } = resource;
    const detail =
      verbose && unverified.length > 0
        ? `\n${style.prose(`${plural(unverified.length, 'field')} unverified: ${unverified.join(', ')}`, { indent: detailIndent, format: style.dim })}`
        : '';
    return headLine(resource, style) + detail;
  });
  return [style.bold(`${verbose ? 'Unchanged' : 'Renamed'} (${shown.length})`), ...lines].join('\n');
}

function closing(plan: PlanDocument, style: Style): string {
  const inSync = Object.entries(plan.summary).every(([action, count]) => action === 'noop' || count === 0);
  return sentences(planSummary(plan), style, { format: inSync ? style.good : style.bold });
}
