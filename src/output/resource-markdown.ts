import type { PlannedResource } from '../engine/plan/plan-document.ts';
import { addressList, mustListAll } from './address-list.ts';
import type { Statement } from './compact.ts';
import { escapeControls } from './escape-controls.ts';
import type { FieldView } from './field-view.ts';
import { fenced, markdownCode, markdownLink, markdownText } from './markdown.ts';
import { plural } from './plural.ts';
import { routeRemarks, sentenceOf } from './route-words.ts';
import { bracketed, type DiffLine } from './text-diff.ts';

/** The symbol and the action of a resource in a table and above its fields. */
export interface RowWords {
  readonly symbol: string;
  /** The action in words, such as `update`. */
  readonly action: string;
}

export const TABLE_HEADING = '| | Resource | Action | Source |\n| --- | --- | --- | --- |';

/** Returns a table row for one resource, or for several resources with shared details. */
export function tableRow(resources: readonly PlannedResource[], words: RowWords): string {
  const [first, ...more] = resources;
  if (first === undefined) return '';
  if (more.length > 0) {
    const names = resources.map(({ address }) => markdownCode(address));
    const shown = mustListAll(resources) ? names.join(', ') : `${names[0]} and ${more.length} more`;
    return `| ${markdownCode(words.symbol)} | ${shown} | ${words.action} | |`;
  }
  const { action, address, source, adopted, previous_address: previous } = first;
  const marks = [
    adopted && action !== 'adopt' ? ', imported' : '',
    previous === undefined ? '' : `, was ${markdownCode(previous)}`,
  ].join('');
  const position = source === null ? '' : markdownCode(`${source.file}:${source.line}`);
  return `| ${markdownCode(words.symbol)} | ${markdownCode(address)} | ${words.action}${marks} | ${position} |`;
}

/** The maximum number of diff lines in the shorter form. */
const MAX_SHORT_LINES = 30;

/** Returns the folded details of one or several resources, in versions of decreasing length. */
export function details(statement: Statement, words: RowWords): readonly string[] {
  const addresses = statement.resources.map(({ address }) => address);
  const forms = withNames(statement, words, addresses.join(', '));
  const [whole = ''] = forms;
  return addresses.length === 1 ? forms : [whole, ...withNames(statement, words, addressList(addresses))];
}

/** Returns a list of imports without changes, one line each, and a shorter form. */
export function adoptionList(resources: readonly PlannedResource[], words: RowWords): readonly string[] {
  const lines = resources.map(({ address, id }) => `${escapeControls(address)} ${escapeControls(id ?? '')}`.trimEnd());
  const block = (content: string) =>
    `<details>\n<summary>${resources.length} resources: ${words.action}</summary>\n\n${content}\n\n</details>`;
  return [block(fenced('', lines)), block(markdownText(addressList(resources.map(({ address }) => address))))];
}

function withNames(statement: Statement, words: RowWords, names: string): readonly string[] {
  const { resources, fields, reason, notices, released, elsewhere } = statement;
  const lines = fields.flatMap(diffLines);
  const [resource] = resources;
  const id = resources.length === 1 ? (resource?.id ?? null) : null;
  const remarks = [
    ...(resources.length === 1 ? [] : [markdownText(names)]),
    [reason, ...(id === null || reason.includes(id) ? [] : [`id ${id}`])]
      .filter((text) => text !== '')
      .map(markdownText)
      .join('; '),
    ...resources.map(({ url }) => markdownLink(url)),
    ...(elsewhere === 0 ? [] : [`Plus ${plural(elsewhere, 'change')} above, shared with others.`]),
    ...routeRemarks(statement, { verbose: resources.length === 1 }).map((remark) => markdownText(sentenceOf(remark))),
    ...notices.map((notice) => `Note: ${markdownText(notice)}`),
    ...(released.length === 0 ? [] : [`No longer managed: ${released.map(markdownCode).join(', ')}`]),
  ].filter((text) => text !== '');
  const withLines = (shown: readonly string[]) =>
    foldedBlock(statement, words, [...remarks, ...(shown.length === 0 ? [] : [fenced('diff', shown)])].join('\n\n'));
  const more = lines.length - MAX_SHORT_LINES;
  const shorter = [...lines.slice(0, MAX_SHORT_LINES), `# ${more} more lines omitted`];
  return [
    withLines(lines),
    ...(more > 0 ? [withLines(shorter)] : []),
    foldedBlock(statement, words, '_Too long to show here._'),
  ];
}

/** Returns a folded block. The empty lines make GitHub render the content as Markdown. */
function foldedBlock({ resources, fields }: Statement, { action }: RowWords, content: string): string {
  const count = fields.length === 0 ? '' : `, ${plural(fields.length, 'field')}`;
  const [{ address } = { address: '' }] = resources;
  const subject = resources.length === 1 ? markdownCode(address) : `${resources.length} resources`;
  const summary = `${subject}: ${action}${count}`;
  return `<details>\n<summary>${summary}</summary>\n\n${content}\n\n</details>`;
}

function diffLines({ path, body, notes }: FieldView): string[] {
  const noteLines = notes.map((note) => `# ${note}`);
  switch (body.form) {
    case 'value':
      return [`+ ${path}: ${body.after}`, ...noteLines];
    case 'change':
      return [`- ${path}: ${body.before}`, `+ ${path}: ${body.after}`, ...noteLines];
    case 'text':
      return [
        ...(body.before === undefined ? [] : [`- ${path}: ${body.before}`]),
        `+ ${path}:`,
        ...body.lines.map((line) => `+   ${line}`.trimEnd()),
        ...(body.more === 0 ? [] : [`# … ${body.more} more lines`]),
        ...noteLines,
      ];
    case 'diff':
      return [
        ...(body.lines[0]?.sign === '@' ? [] : [`@@ ${path} @@`]),
        ...body.lines.map((line) => lineOf(line, path)),
        ...noteLines,
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
