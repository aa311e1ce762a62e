import { stringify } from 'yaml';
import { isObject, type Json, type JsonObject } from '../../values/json.ts';
import { isForm } from '../layers.ts';
import { yamlOptions } from '../parse-documents.ts';
import type { TextSource } from './node-place.ts';

/** Formats a value in block style, for a key or dash at `column`. Value forms and empty values stay on one line. */
export function blockValue(value: Json, column: number, source: TextSource): NewText {
  if (typeof value === 'string' && value.includes('\n') && !source.compact) {
    const block = blockText(value, { folded: false, column, indent: column + source.step });
    if (block !== undefined) return block;
  }
  if (source.compact || !isCollection(value) || isOneLine(value)) return oneLine(value);
  if (isList(value)) {
    const at = column + source.listStep;
    return { head: '', lines: value.flatMap((item) => blockItem(item, at, source)) };
  }
  const at = column + source.step;
  return {
    head: '',
    lines: Object.keys(value).flatMap((key) => blockPair(key, value[key] as Json, { at, source })),
  };
}

/** Returns the lines of a pair whose key is at column `at`. */
export function blockPair(
  key: string,
  value: Json,
  { at, source, style }: { readonly at: number; readonly source: TextSource; readonly style?: string | undefined },
): string[] {
  const { head, lines } = blockValue(value, at, source);
  const name = scalarText(key, { flow: true, json: false, style });
  return [`${' '.repeat(at)}${name}:${head === '' ? '' : ` ${head}`}`, ...lines];
}

/** Returns the lines of a list item whose dash is at column `at`. */
export function blockItem(item: Json, at: number, source: TextSource): string[] {
  const margin = ' '.repeat(at);
  if (isCollection(item) && !isList(item) && !isOneLine(item) && !source.compact) {
    const keys = Object.keys(item);
    const lines = keys.flatMap((key) => blockPair(key, item[key] as Json, { at: at + 2, source }));
    return [`${margin}- ${(lines[0] ?? '').trimStart()}`, ...lines.slice(1)];
  }
  const isInside = isList(item) && !isEmpty(item);
  const { head, lines } = isInside ? oneLine(item) : blockValue(item, at, source);
  return [`${margin}- ${head}`, ...lines];
}

function oneLine(value: Json): NewText {
  return { head: flowValue(value, { json: false }), lines: [] };
}

/** Formats a value on one line, in brackets. */
export function flowValue(value: Json, { json }: { readonly json: boolean }): string {
  if (!isCollection(value)) return scalarText(value, { flow: true, json });
  if (isList(value)) return `[${value.map((item) => flowValue(item, { json })).join(', ')}]`;
  if (isEmpty(value)) return '{}';
  const pairs = Object.keys(value).map((key) => flowPair(key, value[key] as Json, { json }));
  return json ? `{${pairs.join(', ')}}` : `{ ${pairs.join(', ')} }`;
}

export function flowPair(
  key: string,
  value: Json,
  { json, style }: { readonly json: boolean; readonly style?: string | undefined },
): string {
  return `${scalarText(key, { flow: true, json, style })}: ${flowValue(value, { json })}`;
}

type JsonCollection = readonly Json[] | JsonObject;

function isCollection(value: Json): value is JsonCollection {
  return Array.isArray(value) || isObject(value);
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

function isOneLine(value: JsonCollection): boolean {
  if (!isForm(value)) return isEmpty(value);
  return !Object.hasOwn(value, '$literal') || !isCollection(value.$literal as Json);
}

function isEmpty(value: JsonCollection): boolean {
  return Object.keys(value).length === 0;
}

/** The text of a value: the part on the line of its key or dash, and the lines below. */
export interface NewText {
  readonly head: string;
  readonly lines: readonly string[];
}

interface BlockLayout {
  readonly folded: boolean;
  /** The column of the value's key or dash. */
  readonly column: number;
  /** The column at which the text begins. */
  readonly indent: number;
  /** True to write the indentation into the header even if it is not needed. */
  readonly hasExplicitIndent?: boolean;
  /** The number of blank lines that already follow the text. */
  readonly blankAfter?: number;
  /** The previous lines of the text, without indentation. */
  readonly previous?: readonly string[];
}

/** Formats a string as a literal or folded block. Returns undefined if a block cannot represent it. */
export function blockText(value: string, layout: BlockLayout): NewText | undefined {
  const body = value.replace(/\n+$/, '');
  const newlines = value.length - body.length;
  if (body === '' || /(?:^|\n)[ \t]+$/.test(body) || !needsNoEscapes(value)) return undefined;
  const indentBy = layout.indent - layout.column;
  const needsIndent = layout.hasExplicitIndent === true || /^\n* /.test(body);
  if (indentBy < 1 || (needsIndent && indentBy > 9)) return undefined;
  const blank = newlines > 1 ? newlines - 1 - (layout.blankAfter ?? 0) : 0;
  if (blank < 0) return undefined;
  // Use `+` only if necessary: it would include blank lines that are added later.
  const chomping = newlines === 0 ? '-' : newlines > 1 ? '+' : '';
  const content = layout.folded ? foldedLines(body, layout.previous ?? []) : body.split('\n');
  const margin = ' '.repeat(layout.indent);
  return {
    head: `${layout.folded ? '>' : '|'}${needsIndent ? indentBy : ''}${chomping}`,
    lines: [...content.map((line) => (line === '' ? '' : margin + line)), ...Array.from({ length: blank }, () => '')],
  };
}

/** Returns the lines of a folded block. Unchanged paragraphs keep their line breaks. */
function foldedLines(body: string, previous: readonly string[]): string[] {
  const known = paragraphsOf(previous);
  const isWrapped = [...known.values()].some((lines) => lines.length > 1);
  const width = isWrapped ? Math.max(40, ...previous.map(({ length }) => length)) : Number.POSITIVE_INFINITY;
  const result: string[] = [];
  let gap = 0;
  let last: string | undefined;
  for (const line of body.split('\n')) {
    if (line === '') {
      gap++;
      continue;
    }
    if (last !== undefined && isProse(last) && isProse(line)) gap++;
    for (; gap > 0; gap--) result.push('');
    result.push(...(isProse(line) ? (known.get(line) ?? wrapLine(line, width)) : [line]));
    last = line;
  }
  return result;
}

/** YAML does not fold lines that begin with a space or tab. */
function isProse(line: string): boolean {
  return !/^[ \t]/.test(line);
}

/** Returns a map from the text of each paragraph of a folded block to the wrapped lines of the paragraph. */
function paragraphsOf(lines: readonly string[]): Map<string, readonly string[]> {
  const paragraphs = new Map<string, readonly string[]>();
  let open: string[] = [];
  for (const line of [...lines, '']) {
    if (line !== '' && isProse(line)) open.push(line);
    else {
      if (open.length > 0) paragraphs.set(open.join(' '), open);
      open = [];
    }
  }
  return paragraphs;
}

function wrapLine(line: string, width: number): string[] {
  if (line.length <= width) return [line];
  const lines: string[] = [];
  let current = '';
  // A folded line break is read as one space, so consecutive spaces must stay on one line.
  for (const word of line.split(/(?<=\S) (?=\S)/)) {
    if (current !== '' && current.length + 1 + word.length > width) {
      lines.push(current);
      current = word;
    } else current = current === '' ? word : `${current} ${word}`;
  }
  return [...lines, current];
}

export type ScalarValue = null | boolean | number | string;

interface ScalarLayout {
  /** True inside brackets, where commas and brackets end a plain scalar. */
  readonly flow: boolean;
  /** True to use JSON syntax only. */
  readonly json: boolean;
  readonly style?: string | undefined;
}

/** Formats a scalar on one line, in the preferred style if possible. */
export function scalarText(value: ScalarValue, { flow, json, style }: ScalarLayout): string {
  if (typeof value !== 'string') return JSON.stringify(value);
  const isQuoted = json || style === 'QUOTE_DOUBLE' || /[\n\t]/.test(value);
  if (isQuoted || !needsNoEscapes(value)) return doubleQuoted(value);
  if (style === 'QUOTE_SINGLE') return `'${value.replaceAll("'", "''")}'`;
  return flow ? stringify([value], FLOW).slice(1, -2) : stringify({ k: value }, ONE_LINE).slice(3, -1);
}

const ONE_LINE = { ...yamlOptions, lineWidth: 0, singleQuote: false } as const;
const FLOW = { ...ONE_LINE, collectionStyle: 'flow', flowCollectionPadding: false } as const;

/** Quotes a string and escapes all invisible characters. The result is valid YAML and JSON. */
function doubleQuoted(text: string): string {
  return JSON.stringify(text).replace(
    INVISIBLE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

const INVISIBLE = /[\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffe\uffff]/g;

/** Returns true if the text, apart from tabs and line feeds, needs no escapes in a file. */
function needsNoEscapes(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern searches for control characters.
  return text.isWellFormed() && !/[\u0000-\u0008\u000b-\u001f]/.test(text) && text.search(INVISIBLE) === -1;
}
