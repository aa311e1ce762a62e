import { isMap, isScalar, isSeq, type YAMLMap, type YAMLSeq } from 'yaml';
import type { Json } from '../../values/json.ts';
import { CannotEdit } from './change.ts';
import { rangeOf } from './edit-value.ts';
import { blockItem, blockPair, flowPair, flowValue } from './new-value.ts';
import type { NodePlace } from './node-place.ts';
import type { Splice, TextSource } from './text-source.ts';

export interface NewPair {
  readonly key: string;
  readonly value: Json;
  /** The quotes that the object's other keys have. */
  readonly style: string | undefined;
}

export interface NewItem {
  /** Of the item that it is put before; the length of the list for the end. */
  readonly index: number;
  readonly value: Json;
}

type Alternatives = readonly (readonly Splice[])[];

export function addToBlockMap(
  map: YAMLMap,
  { key, value, style }: NewPair,
  { source }: NodePlace,
): Alternatives {
  const at = source.column(startOfPair(map, 0));
  const oneLine = `${' '.repeat(at)}${flowPair(key, value, { json: false, style })}`;
  return [blockPair(key, value, { at, source, style }), [oneLine]].map((lines) => [
    below(map, source, lines),
  ]);
}

export function insertIntoBlockList(
  list: YAMLSeq,
  { index, value }: NewItem,
  { source }: NodePlace,
): Alternatives {
  const at = source.column(startOfDash(list, 0));
  const models = list.items.filter((item) => isMap(item) || isSeq(item));
  const isFlow = models.length > 0 && models.every((item) => item.flow === true);
  const oneLine = [`${' '.repeat(at)}- ${flowValue(value, { json: false })}`];
  const previous = list.items[index - 1];
  const start = startOfDash(list, 0);
  return (isFlow ? [oneLine] : [blockItem(value, at, source), oneLine]).map((lines) => {
    if (previous !== undefined) return [below(previous, source, lines)];
    const text = `${lines.join(source.eol).slice(at)}${source.eol}${' '.repeat(at)}`;
    return [{ start, end: start, text }];
  });
}

export function removeFromBlockMap(map: YAMLMap, index: number, { source }: NodePlace): Splice[] {
  const next = index + 1 < map.items.length ? startOfPair(map, index + 1) : undefined;
  const { key, value } = map.items[index] ?? {};
  return [without(source, { start: startOfPair(map, index), last: value ?? key, next })];
}

export function removeFromBlockList(list: YAMLSeq, index: number, { source }: NodePlace): Splice[] {
  const next = index + 1 < list.items.length ? startOfDash(list, index + 1) : undefined;
  return [without(source, { start: startOfDash(list, index), last: list.items[index], next })];
}

interface Part {
  readonly start: number;
  /** The node that it ends with. */
  readonly last: unknown;
  /** Where the following part begins. */
  readonly next: number | undefined;
}

/** Without a part that has lines of its own, or that shares its first line with the dash of a list around it. */
function without(source: TextSource, { start, last, next }: Part): Splice {
  if (source.beginsLine(start)) {
    return { start: source.lineStart(start), end: endOf(last, source), text: '' };
  }
  if (next === undefined) throw new CannotEdit('it is the only thing on its line');
  return { start, end: next, text: '' };
}

/** New lines right below a node and whatever stands behind it on its last line. */
function below(node: unknown, source: TextSource, lines: readonly string[]): Splice {
  const end = endOf(node, source);
  if (end > 0 && source.text[end - 1] !== '\n') {
    return { start: end, end, text: lines.map((line) => source.eol + line).join('') };
  }
  return { start: end, end, text: lines.map((line) => line + source.eol).join('') };
}

/** Where the line after a node's last one begins, or the end of the text. */
export function endOf(node: unknown, source: TextSource): number {
  if (isMap(node) && node.flow !== true && node.items.length > 0) {
    const pair = node.items.at(-1);
    return endOf(pair?.value ?? pair?.key, source);
  }
  if (isSeq(node) && node.flow !== true && node.items.length > 0) return endOf(node.items.at(-1), source);
  const [, end] = rangeOf(node);
  const isBlock = isScalar(node) && (node.type === 'BLOCK_LITERAL' || node.type === 'BLOCK_FOLDED');
  return isBlock && source.text[end - 1] === '\n' ? end : source.nextLine(end);
}

export function startOfPair(map: YAMLMap, index: number): number {
  const token = map.items[index]?.srcToken;
  const explicit = token?.start.find(({ type }) => type === 'explicit-key-ind' || type === 'anchor');
  return explicit?.offset ?? rangeOf(map.items[index]?.key)[0];
}

export function startOfDash(list: YAMLSeq, index: number): number {
  const token = list.srcToken;
  const dash =
    token?.type === 'block-seq'
      ? token.items[index]?.start.find(({ type }) => type === 'seq-item-ind')
      : undefined;
  if (dash === undefined) throw new CannotEdit('its list has no dashes');
  return dash.offset;
}
