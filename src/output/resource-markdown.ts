import type { PlannedResource } from '../engine/plan-document.ts';
import { plural } from './action-words.ts';
import { type FieldView, type FieldViewOptions, fieldViews } from './field-view.ts';
import { fenced, markdownCode, markdownText } from './markdown-text.ts';
import { bracketed } from './prompt-diff/bracketed.ts';
import { routeRemarks, sentenceOf } from './route-words.ts';
import type { DiffLine } from './text-diff.ts';

/** How a resource is called in a table and over its fields. */
export interface RowWords {
  readonly symbol: string;
  /** E.g. `update`. */
  readonly action: string;
}

export const TABLE_HEADING = '| | Resource | Action | Source |\n| --- | --- | --- | --- |';

export function tableRow(
  { action, address, source, adopted, previous_address: previous }: PlannedResource,
  words: RowWords,
): string {
  const marks = [
    adopted && action !== 'adopt' ? ', adopted' : '',
    previous === undefined ? '' : `, was ${markdownCode(previous)}`,
  ].join('');
  const place = source === null ? '' : markdownCode(`${source.file}:${source.line}`);
  return `| ${markdownCode(words.symbol)} | ${markdownCode(address)} | ${words.action}${marks} | ${place} |`;
}

/** Of the lines of a diff, where there is no room for all. */
const fewLines = 30;

/** All that is said of a resource, folded; and forms for where there is no room for that, each shorter than the one before. */
export function details(
  resource: PlannedResource,
  words: RowWords,
  views: FieldViewOptions,
): readonly string[] {
  const lines = fieldViews(resource, views).flatMap(diffLines);
  const { reason, id, notices = [], released = [] } = resource;
  const remarks = [
    [reason, ...(id === null || reason.includes(id) ? [] : [`id ${id}`])]
      .filter((text) => text !== '')
      .map(markdownText)
      .join('; '),
    ...routeRemarks(resource, { verbose: true }).map((remark) => markdownText(sentenceOf(remark))),
    ...notices.map((notice) => `Note: ${markdownText(notice)}`),
    ...(released.length === 0 ? [] : [`No longer managed: ${released.map(markdownCode).join(', ')}`]),
  ].filter((text) => text !== '');
  const withLines = (shown: readonly string[]) =>
    folded(
      resource,
      words,
      [...remarks, ...(shown.length === 0 ? [] : [fenced('diff', shown)])].join('\n\n'),
    );
  const more = lines.length - fewLines;
  return [
    withLines(lines),
    ...(more > 0
      ? [withLines([...lines.slice(0, fewLines), `# ${more} more lines are too long to be shown here`])]
      : []),
    folded(resource, words, '_Too long to be shown here._'),
  ];
}

/** The blank lines make GitHub read the content as Markdown again. */
function folded({ address, changes }: PlannedResource, { action }: RowWords, content: string): string {
  const fields = changes.length === 0 ? '' : `, ${plural(changes.length, 'field')}`;
  const summary = `${markdownCode(address)}: ${action}${fields}`;
  return `<details>\n<summary>${summary}</summary>\n\n${content}\n\n</details>`;
}

/** A field as lines of a diff. */
export function diffLines({ path, body, notes }: FieldView): string[] {
  const said = notes.map((note) => `# ${note}`);
  switch (body.form) {
    case 'value':
      return [`+ ${path}: ${body.after}`, ...said];
    case 'change':
      return [`- ${path}: ${body.before}`, `+ ${path}: ${body.after}`, ...said];
    case 'text':
      return [
        ...(body.before === undefined ? [] : [`- ${path}: ${body.before}`]),
        `+ ${path}:`,
        ...body.lines.map((line) => `+   ${line}`.trimEnd()),
        ...(body.more === 0 ? [] : [`# … ${body.more} more lines`]),
        ...said,
      ];
    case 'diff':
      return [
        ...(body.lines[0]?.sign === '@' ? [] : [`@@ ${path} @@`]),
        ...body.lines.map((line) => lineOf(line, path)),
        ...said,
      ];
    default:
      return body satisfies never;
  }
}

function lineOf(line: DiffLine, path: string): string {
  const { sign, text } = line;
  if (sign === '@') return `@@ ${path}, ${text} @@`;
  return sign === '~' ? `# ${text}` : `${sign} ${bracketed(line)}`.trimEnd();
}
