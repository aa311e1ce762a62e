import { isMap, isSeq, type YAMLMap, type YAMLSeq } from 'yaml';
import type { Json } from '../../values/json.ts';
import { CannotEdit } from './change.ts';
import { blockItem, blockPair, flowValue } from './new-value.ts';
import { type Collection, endOf, lastOfEntry, type NodePlace, startOfEntry } from './node-place.ts';
import type { Splice, TextSource } from './text-source.ts';

export interface NewPair {
  readonly key: string;
  readonly value: Json;
  /** The quotes of the object's other keys. */
  readonly style: string | undefined;
}

export interface NewItem {
  /** The item after the new one; the length of the list for the end. */
  readonly index: number;
  readonly value: Json;
}

export function addToBlockMap(map: YAMLMap, { key, value, style }: NewPair, { source }: NodePlace): Splice[] {
  const at = source.column(startOfEntry(map, 0));
  return [below(map, source, blockPair(key, value, { at, source, style }))];
}

export function insertIntoBlockList(list: YAMLSeq, { index, value }: NewItem, { source }: NodePlace): Splice[] {
  const start = startOfEntry(list, 0);
  const at = source.column(start);
  const models = list.items.filter((item) => isMap(item) || isSeq(item));
  const isFlow = models.length > 0 && models.every((item) => item.flow === true);
  const lines = isFlow ? [`${' '.repeat(at)}- ${flowValue(value, { json: false })}`] : blockItem(value, at, source);
  const previous = list.items[index - 1];
  if (previous !== undefined) return [below(previous, source, lines)];
  const text = `${lines.join(source.eol).slice(at)}${source.eol}${' '.repeat(at)}`;
  return [{ start, end: start, text }];
}

/** Removes a pair or an item that has its own lines, or that shares its first line with the dash of an enclosing list. */
export function removeFromBlock(node: Collection, index: number, { source }: NodePlace): Splice[] {
  const start = startOfEntry(node, index);
  if (source.beginsLine(start)) {
    const begin = source.lineStart(start);
    const end = endOf(lastOfEntry(node, index), source);
    // A text without a final newline stays without one.
    const isOpen = begin > 0 && end === source.text.length && source.text[end - 1] !== '\n';
    return [{ start: isOpen ? source.lineEnd(begin - 1) : begin, end, text: '' }];
  }
  if (index + 1 === node.items.length) throw new CannotEdit('it is the only thing on its line');
  return [{ start, end: startOfEntry(node, index + 1), text: '' }];
}

/** New lines directly below a node and everything on its last line. */
function below(node: unknown, source: TextSource, lines: readonly string[]): Splice {
  const end = endOf(node, source);
  if (end > 0 && source.text[end - 1] !== '\n') {
    return { start: end, end, text: lines.map((line) => source.eol + line).join('') };
  }
  return { start: end, end, text: lines.map((line) => line + source.eol).join('') };
}
