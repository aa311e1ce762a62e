import type { PlannedResource } from '../engine/plan/plan-document.ts';
import { addressList, mustListAll } from './address-list.ts';
import { compact, type Statement } from './compact.ts';
import { escapeControls } from './escape-controls.ts';
import type { FieldBody, FieldView, FieldViewOptions } from './field-view.ts';
import { isTask, stepText } from './next-steps.ts';
import { plural } from './plural.ts';
import type { ReportGroup, ResourceMark } from './report.ts';
import { routeRemarks } from './route-words.ts';
import type { Format, Style } from './style.ts';
import { noWrapColumns, tableLayout } from './table.ts';
import { bracketed, type DiffLine } from './text-diff.ts';
import { breakText, displayWidth, pad } from './text-width.ts';

interface ResourceTextOptions {
  readonly style: Style;
  readonly views: FieldViewOptions;
  /** True to repeat shared statements for each resource. */
  readonly full?: boolean;
  /** Indented tables that replace some resources of the group. */
  readonly tables?: readonly { readonly resources: readonly PlannedResource[]; readonly text: string }[];
}

/** Returns a heading with the number of resources, shared statements, and the resources. Returns an empty string for an empty group. */
export function renderGroup(group: ReportGroup, { style, views, full, tables = [] }: ResourceTextOptions): string {
  const { heading, resources, omitsReason } = group;
  if (resources.length === 0) return '';
  const shared = views.verbose || resources.every(omitsReason) ? undefined : sharedReason(resources);
  const explanation = group.explanation ?? shared;
  const title = style.prose(explanation ?? '', {
    lead: `${style.bold(`${heading} (${resources.length})`)}${explanation === undefined ? '' : ': '}`,
    format: style.dim,
  });
  const isWhole = full || views.verbose;
  const showsReason = (resource: PlannedResource) =>
    views.verbose || (resource.reason !== explanation && !omitsReason(resource));
  const inTables = new Set(tables.flatMap((table) => table.resources));
  const single = resources.filter((resource) => !inTables.has(resource));
  const listed = isWhole ? [] : single.filter(isListed);
  const isList = listed.length >= MIN_LISTED;
  const others = isList ? single.filter((resource) => !isListed(resource)) : single;
  const blocks = compact(others, { views, full: isWhole }).map((statement) =>
    renderStatement(statement, group, { style, views, showsReason }),
  );
  // Entries are separated by empty lines if any entry has several lines.
  const spaced = isList || tables.length > 0 || blocks.some((block) => block.includes('\n'));
  if (isList) blocks.push(renderList(listed, group, { style, views, showsReason }));
  blocks.push(...tables.map(({ text }) => text));
  return [title, ...(spaced ? [''] : []), blocks.join(spaced ? '\n\n' : '\n')].join('\n');
}

/** The minimum number of resources for a table. */
const MIN_LISTED = 12;

/** True for a resource that a table can contain, because it is created or imported. */
function isListed({ action, adopted }: PlannedResource): boolean {
  return action === 'create' || action === 'adopt' || adopted === true;
}

function sharedReason(resources: readonly PlannedResource[]): string | undefined {
  const reasons = new Set(resources.map(({ reason }) => reason));
  const [reason = ''] = reasons;
  // A longer reason would look like a paragraph.
  return reasons.size === 1 && reason !== '' && reason.length <= 90 ? reason : undefined;
}

interface StatementOptions {
  readonly style: Style;
  readonly views: FieldViewOptions;
  showsReason(resource: PlannedResource): boolean;
}

function renderStatement(
  statement: Statement,
  group: ReportGroup,
  { style, views, showsReason }: StatementOptions,
): string {
  const { resources, fields, reason, released, notices, steps, elsewhere } = statement;
  const remark = (text: string) => renderRemark(text, style);
  const [resource] = resources;
  const names = namesOf(resources);
  if (resources.length > 1 && fields.length + steps.length + released.length === 0 && isUpdate(resources)) {
    return notices.map((notice) => renderRemark(`${notice}: ${names}`, style, style.warn)).join('\n');
  }
  const hasReason = reason !== '' && resource !== undefined && showsReason(resource);
  return [
    ...(resources.length === 1
      ? resources.map((each) => headLine(each, group, style))
      : headOf(statement, group, style)),
    ...(hasReason ? [remark(reason)] : []),
    ...renderFields(fields, style, detailIndent),
    ...(elsewhere === 0 ? [] : [remark(`plus ${plural(elsewhere, 'change')} above, shared with others`)]),
    ...(released.length > 0 ? [remark(`no longer managed: ${released.join(', ')}`)] : []),
    ...routeRemarks(statement, views).map(remark),
    ...notices.map((notice) => renderRemark(notice, style, style.warn)),
    ...steps.map((step) => renderStep(step, style)),
  ].join('\n');
}

function namesOf(resources: readonly PlannedResource[]): string {
  const names = resources.map(({ address }) => address);
  return addressList(names, mustListAll(resources));
}

function isUpdate(resources: readonly PlannedResource[]): boolean {
  return resources.every(({ action }) => action === 'update');
}

/** Returns the heading of a shared statement: a line for each resource, or only the addresses for updates without steps. */
function headOf({ resources, fields, steps }: Statement, group: ReportGroup, style: Style): string[] {
  const { symbol, colorOf } = group;
  const all = resources.length;
  const marks = resources[0]?.adopted ? `${style.action[colorOf]('(imported)')} ` : '';
  const description =
    fields.length === 0
      ? 'with the same details'
      : fields.length === 1
        ? 'with the same change'
        : 'with the same changes';
  const head = `${style.action[colorOf](pad(symbol, symbolWidth, 'right'))} ${style.bold(`${all} resources`)} ${marks}${description}`;
  if (steps.length > 0 || !isUpdate(resources)) {
    return [head, ...resources.map((each) => headLine(each, { symbol: '', colorOf }, style))];
  }
  return [head, style.prose(namesOf(resources), { indent: detailIndent })];
}

/** The width of the symbol and the space after it. */
const margin = 4;

/** Returns a table with a line for each resource, and its notes and steps below the line. */
function renderList(
  resources: readonly PlannedResource[],
  { symbol, colorOf }: ResourceMark,
  { style, showsReason, views }: StatementOptions,
): string {
  const rows = resources.map((resource) => ({ resource, cells: cellsOf(resource) }));
  const isFilled = [0, 1, 2].map((column) => rows.some(({ cells }) => cells[column] !== ''));
  const shown = (cells: readonly string[]) => cells.filter((_, column) => isFilled[column]);
  const columns = [...noWrapColumns('ADDRESS', 'ID'), { title: isFilled[1] ? 'DIFFERS' : 'SETS', prose: true }];
  const layout = tableLayout(
    columns.filter((_, column) => isFilled[column]),
    rows.map(({ cells }) => shown(cells)),
    { ...style, width: style.width - margin },
  );
  const indentRest = (lines: string) => lines.replaceAll('\n', `\n${' '.repeat(margin)}`);
  const mark = style.action[colorOf](pad(symbol, margin - 1, 'right'));
  const below = ({ steps = [], notices = [], ...resource }: PlannedResource): string[] => [
    ...(showsReason(resource) && resource.reason !== '' ? [renderRemark(resource.reason, style)] : []),
    ...notices.map((notice) => renderRemark(notice, style, style.warn)),
    ...steps.map((step) => (isTask(step) ? renderStep : renderRemark)(stepText(step, views.selection), style)),
  ];
  const lines = rows.map(({ resource, cells }) =>
    [`${mark} ${indentRest(layout.line(shown(cells)))}`, ...below(resource)].join('\n'),
  );
  const hint = isFilled[2] ? [renderRemark('--full shows every field', style)] : [];
  return [`${' '.repeat(margin)}${indentRest(layout.titles)}`, ...lines, ...hint].join('\n');
}

/** Returns the address, the id, and the differing fields, or for a new record, the number of fields. */
function cellsOf({ address, id, changes, previous_address: previous }: PlannedResource): readonly string[] {
  const formerName = previous === undefined ? '' : `was ${previous}; `;
  const paths = id === null ? plural(changes.length, 'field') : changes.map(({ path }) => path).join(', ');
  return [address, id ?? '', formerName + paths].map(escapeControls);
}

/** The width of the symbol before an address, and the indentation of the details of a resource. */
const symbolWidth = 3;
const detailIndent = 6;

/** Formats a detail of a resource. The leading `# ` distinguishes details from fields. */
export function renderRemark(text: string, style: Style, format: Format = style.dim): string {
  return style.prose(text, { indent: detailIndent, lead: format('# '), format });
}

/** Returns the symbol, the address, the marks, the id and the source of a resource, wrapped if necessary. */
export function headLine(resource: PlannedResource, { symbol, colorOf }: ResourceMark, style: Style): string {
  const { action, address, id, url, source, adopted, previous_address: previous } = resource;
  const color = style.action[colorOf];
  const marks = [
    adopted && action !== 'adopt' ? 'imported' : undefined,
    previous === undefined ? undefined : `was ${escapeControls(previous)}`,
  ].filter((mark) => mark !== undefined);
  const rest = [
    ...(marks.length === 0 ? [] : [color(`(${marks.join(', ')})`)]),
    ...(id === null ? [] : [style.dim(escapeControls(id))]),
    ...(source === null ? [] : [style.dim(`${escapeControls(source.file)}:${source.line}`)]),
    ...(url === undefined ? [] : [escapeControls(url)]),
  ];
  const lines = [`${color(pad(symbol, symbolWidth, 'right'))} ${style.bold(escapeControls(address))}`];
  for (const part of rest) {
    const longer = `${lines.at(-1)}  ${part}`;
    if (displayWidth(longer) <= style.width) lines.splice(-1, 1, longer);
    else lines.push(' '.repeat(detailIndent) + part);
  }
  return lines.join('\n');
}

function renderStep(step: string, style: Style): string {
  return style.prose(step, { indent: detailIndent, lead: '[ ] ' });
}

/** The maximum share of the width for aligned paths. A longer path does not affect the alignment of other fields. */
const alignedShare = 0.55;

/**
 * Returns a line for each field, `path: before -> after`, with aligned values. A value that is too wide or has several lines is written
 * below its path, after a bar. A wrapped line continues after a colon.
 */
function renderFields(fields: readonly FieldView[], style: Style, indent: number): string[] {
  const widths = fields
    .filter(({ body }) => body.form === 'value' || body.form === 'change')
    .map(({ path }) => displayWidth(path) + 1)
    .filter((width) => width <= style.width * alignedShare);
  const layout: FieldLayout = { style, margin: ' '.repeat(indent), labelWidth: Math.max(0, ...widths) };
  return fields.map((field) => renderField(field, layout));
}

interface FieldLayout {
  readonly style: Style;
  readonly margin: string;
  readonly labelWidth: number;
}

function renderField({ path, body, notes }: FieldView, layout: FieldLayout): string {
  const { style, margin, labelWidth } = layout;
  const noteText = notes.map((note) => style.warn(`(${note})`)).join(' ');
  const inline = oneLine(body, style);
  if (inline !== undefined) {
    const line = `${margin}${pad(`${path}:`, labelWidth)} ${inline}`;
    if (displayWidth(line) <= style.width) return withNotes(line, noteText, layout);
  }
  const oldValue =
    body.form === 'text' && body.before !== undefined ? ` ${style.removed(body.before)} ${style.dim('->')}` : '';
  const head = withNotes(`${margin}${path}:${oldValue}`, noteText, layout);
  return [head, ...blockOf(body, style).flatMap((line) => renderBlockLine(line, layout))].join('\n');
}

/** Puts the notes at the end of the line if they fit, otherwise below it. */
function withNotes(line: string, noteText: string, { style, margin }: FieldLayout): string {
  if (noteText === '') return line;
  const fits = displayWidth(line) + 2 + displayWidth(noteText) <= style.width;
  return `${line}${fits ? '  ' : `\n${margin}  `}${noteText}`;
}

function oneLine(body: FieldBody, { added, removed, dim }: Style): string | undefined {
  if (body.form === 'value') return body.after;
  if (body.form === 'change') return `${removed(body.before)} ${dim('->')} ${added(body.after)}`;
  return undefined;
}

interface BlockLine {
  /** The text before the first line. Further lines are indented by its width. */
  readonly sign: string;
  readonly text: string;
  readonly format: Format;
  /** The parts of the text, if they have different formats. */
  readonly parts?: readonly { readonly text: string; readonly format: Format }[];
}

function blockOf(body: FieldBody, style: Style): BlockLine[] {
  const { added, removed, dim } = style;
  switch (body.form) {
    case 'value':
      return [{ sign: '', text: body.after, format: String }];
    case 'change':
      return [
        { sign: '- ', text: body.before, format: removed },
        { sign: '+ ', text: body.after, format: added },
      ];
    case 'text':
      return [
        ...body.lines.map(
          (text): BlockLine => ({ sign: '', text, format: body.before === undefined ? String : added }),
        ),
        ...(body.more === 0 ? [] : [{ sign: '', text: `… ${body.more} more lines`, format: dim }]),
      ];
    case 'diff':
      return body.lines.map((line) => diffLine(line, style));
    default:
      return body satisfies never;
  }
}

/** Marks changed words with a color, or with brackets if there are no colors. */
function diffLine(line: DiffLine, style: Style): BlockLine {
  const { sign, text, words } = line;
  const { color, added, removed, addedWords, removedWords, dim } = style;
  if (sign === '@') return { sign: '', text: `@@ ${text} @@`, format: dim };
  if (sign === '~' || sign === ' ') return { sign: `${sign} `, text, format: sign === '~' ? dim : String };
  const [format, changed] = sign === '+' ? [added, addedWords] : [removed, removedWords];
  if (!color || words === undefined) return { sign: `${sign} `, text: bracketed(line), format };
  const parts = words.map((word) => ({ text: word.text, format: word.changed ? changed : format }));
  return { sign: `${sign} `, text, format, parts };
}

function renderBlockLine({ sign, text, format, parts }: BlockLine, { style, margin }: FieldLayout): string[] {
  const room = Math.max(20, style.width - margin.length - 4 - sign.length);
  let done = 0;
  return breakText(text, room).map((piece, index) => {
    const bar = style.dim(index === 0 ? '|' : ':');
    const lead = index === 0 ? sign : ' '.repeat(sign.length);
    const start = done;
    done += piece.length;
    if (parts === undefined) return `${margin}  ${bar} ${format(`${lead}${piece}`.trimEnd())}`.trimEnd();
    return `${margin}  ${bar} ${format(lead)}${sliceFormatted(parts, start, start + piece.trimEnd().length)}`;
  });
}

/** Returns the part of a formatted string between two indices. */
function sliceFormatted(parts: NonNullable<BlockLine['parts']>, start: number, end: number): string {
  let at = 0;
  return parts
    .map(({ text, format }) => {
      const shown = text.slice(Math.max(0, start - at), Math.max(0, end - at));
      at += text.length;
      return format(shown);
    })
    .join('');
}
