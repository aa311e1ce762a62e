import type { PlannedResource } from '../engine/plan/plan-document.ts';
import { addressList, mustNameAll } from './address-list.ts';
import { compacted, type Statement } from './compact.ts';
import type { FieldViewOptions } from './field-view.ts';
import { renderFields } from './fields-text.ts';
import { plural } from './plural.ts';
import type { ReportGroup } from './report.ts';
import { detailIndent, headLine, renderRemark, renderStep, symbolWidth } from './resource-lines.ts';
import { renderList } from './resource-list.ts';
import { routeRemarks } from './route-words.ts';
import type { Style } from './style.ts';
import { pad } from './text-width.ts';

interface ResourceTextOptions {
  readonly style: Style;
  readonly views: FieldViewOptions;
  /** Says everything of each resource, also what many share. */
  readonly full?: boolean;
  /** Indented tables that replace resources of the group. */
  readonly tables?: readonly { readonly resources: readonly PlannedResource[]; readonly text: string }[];
}

/** A heading with its count and what all its resources have in common, then the resources; empty where there are none. */
export function renderGroup(
  group: ReportGroup,
  { style, views, full, tables = [] }: ResourceTextOptions,
): string {
  const { heading, resources, isPlain } = group;
  if (resources.length === 0) return '';
  const shared = views.verbose || resources.every(isPlain) ? undefined : sharedReason(resources);
  const explanation = group.explanation ?? shared;
  const title = style.prose(explanation ?? '', {
    lead: `${style.bold(`${heading} (${resources.length})`)}${explanation === undefined ? '' : ': '}`,
    format: style.dim,
  });
  const isWhole = full || views.verbose;
  const says = (resource: PlannedResource) =>
    views.verbose || (resource.reason !== explanation && !isPlain(resource));
  const inTables = new Set(tables.flatMap((table) => table.resources));
  const single = resources.filter((resource) => !inTables.has(resource));
  const listed = isWhole ? [] : single.filter(isListed);
  const isList = listed.length >= FEWEST_LISTED;
  const others = isList ? single.filter((resource) => !isListed(resource)) : single;
  const rendered = (whole: boolean) =>
    compacted(others, { views, full: whole }).map((said) => renderSaid(said, group, { style, views, says }));
  const compact = rendered(isWhole);
  // No resource takes less than a line.
  const isShort = isWhole || linesOf(compact) <= others.length;
  const whole = isShort ? compact : rendered(true);
  const blocks = linesOf(whole) < linesOf(compact) ? whole : compact;
  const airy = isList || tables.length > 0 || isAiry(blocks);
  if (isList) blocks.push(renderList(listed, group, { style, says, reach: views.reach }));
  blocks.push(...tables.map(({ text }) => text));
  return [title, ...(airy ? [''] : []), blocks.join(airy ? '\n\n' : '\n')].join('\n');
}

/** What is more than a line is set apart. */
function isAiry(blocks: readonly string[]): boolean {
  return blocks.some((block) => block.includes('\n'));
}

function linesOf(blocks: readonly string[]): number {
  return blocks.join(isAiry(blocks) ? '\n\n' : '\n').split('\n').length;
}

/** From so many on they are a table. */
const FEWEST_LISTED = 12;

/** Created or adopted: of many of these, addresses and differences are enough. */
function isListed({ action, adopted }: PlannedResource): boolean {
  return action === 'create' || action === 'adopt' || adopted === true;
}

function sharedReason(resources: readonly PlannedResource[]): string | undefined {
  const reasons = new Set(resources.map(({ reason }) => reason));
  const [reason = ''] = reasons;
  // A longer one would read as a paragraph of the heading.
  return reasons.size === 1 && reason !== '' && reason.length <= 90 ? reason : undefined;
}

interface Saying {
  readonly style: Style;
  readonly views: FieldViewOptions;
  /** Whether the reason is said. */
  says(resource: PlannedResource): boolean;
}

function renderSaid(said: Statement, group: ReportGroup, { style, views, says }: Saying): string {
  const { resources, fields, reason, released, notices, steps, elsewhere } = said;
  const remark = (text: string) => renderRemark(text, style);
  const [resource] = resources;
  const names = namesOf(resources);
  if (resources.length > 1 && fields.length + steps.length + released.length === 0 && isUpdate(resources)) {
    return notices.map((notice) => renderRemark(`${notice}: ${names}`, style, style.warn)).join('\n');
  }
  const isSaid = reason !== '' && resource !== undefined && says(resource);
  return [
    ...(resources.length === 1
      ? resources.map((each) => headLine(each, group, style))
      : headOf(said, group, style)),
    ...(isSaid ? [remark(reason)] : []),
    ...renderFields(fields, style, detailIndent),
    ...(elsewhere === 0 ? [] : [remark(`plus ${plural(elsewhere, 'change')} above, shared with others`)]),
    ...(released.length > 0 ? [remark(`no longer managed: ${released.join(', ')}`)] : []),
    ...routeRemarks(said, views).map(remark),
    ...notices.map((notice) => renderRemark(notice, style, style.warn)),
    ...steps.map((step) => renderStep(step, style)),
  ].join('\n');
}

function namesOf(resources: readonly PlannedResource[]): string {
  const names = resources.map(({ address }) => address);
  return addressList(names, mustNameAll(resources));
}

function isUpdate(resources: readonly PlannedResource[]): boolean {
  return resources.every(({ action }) => action === 'update');
}

/** Those that share what follows: each with its id where a person must decide about it, else the first of them by name. */
function headOf({ resources, fields, steps }: Statement, group: ReportGroup, style: Style): string[] {
  const { symbol, colorOf } = group;
  const all = resources.length;
  const marks = resources[0]?.adopted ? `${style.action[colorOf]('(adopted)')} ` : '';
  const what =
    fields.length === 0 ? 'alike' : fields.length === 1 ? 'with the same change' : 'with the same changes';
  const head = `${style.action[colorOf](pad(symbol, symbolWidth, 'right'))} ${style.bold(`${all} resources`)} ${marks}${what}`;
  if (steps.length > 0 || !isUpdate(resources)) {
    return [head, ...resources.map((each) => headLine(each, { symbol: '', colorOf }, style))];
  }
  return [head, style.prose(namesOf(resources), { indent: detailIndent })];
}
