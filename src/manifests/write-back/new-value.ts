import { isObject, type Json, type JsonObject } from '../../values/json.ts';
import { isForm } from '../layers.ts';
import { blockText, type NewText } from './block-text.ts';
import { scalarText } from './scalar-text.ts';
import type { TextSource } from './text-source.ts';

/** In block style, for a key or dash at `column`. Value forms and empty values stay on one line. */
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

/** The lines of a pair with its key at column `at`. */
export function blockPair(
  key: string,
  value: Json,
  { at, source, style }: { readonly at: number; readonly source: TextSource; readonly style?: string | undefined },
): string[] {
  const { head, lines } = blockValue(value, at, source);
  const name = scalarText(key, { flow: true, json: false, style });
  return [`${' '.repeat(at)}${name}:${head === '' ? '' : ` ${head}`}`, ...lines];
}

/** The lines of a list item with its dash at column `at`. */
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

/** On one line, in brackets. */
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
