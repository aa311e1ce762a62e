import { isMap, isPair, isSeq, type YAMLMap, type YAMLSeq } from 'yaml';
import type { Json } from '../../values/json.ts';
import { CannotEdit, type Splice } from './change.ts';
import { blockItem, blockPair, flowPair, flowValue } from './new-value.ts';
import {
  type Collection,
  endOf,
  lastNodeOfEntry,
  type NodePlace,
  rangeOf,
  startOfEntry,
  type TextSource,
} from './node-place.ts';

interface NewPair {
  readonly key: string;
  readonly value: Json;
  /** The quote style of the object's other keys. */
  readonly style: string | undefined;
}

interface NewItem {
  /** The index of the new item. An index equal to the length of the list appends it. */
  readonly index: number;
  readonly value: Json;
}

export function addToBlockMap(map: YAMLMap, { key, value, style }: NewPair, { source }: NodePlace): Splice[] {
  const at = source.column(startOfEntry(map, 0));
  return [insertBelow(map, source, blockPair(key, value, { at, source, style }))];
}

export function insertIntoBlockList(list: YAMLSeq, { index, value }: NewItem, { source }: NodePlace): Splice[] {
  const start = startOfEntry(list, 0);
  const at = source.column(start);
  const models = list.items.filter((item) => isMap(item) || isSeq(item));
  const isFlow = models.length > 0 && models.every((item) => item.flow === true);
  const lines = isFlow ? [`${' '.repeat(at)}- ${flowValue(value, { json: false })}`] : blockItem(value, at, source);
  const previous = list.items[index - 1];
  if (previous !== undefined) return [insertBelow(previous, source, lines)];
  const text = `${lines.join(source.eol).slice(at)}${source.eol}${' '.repeat(at)}`;
  return [{ start, end: start, text }];
}

/** Removes a pair or an item that has its own lines, or that shares its first line with the dash of an enclosing list. */
export function removeFromBlock(node: Collection, index: number, { source }: NodePlace): Splice[] {
  const start = startOfEntry(node, index);
  if (source.beginsLine(start)) {
    const begin = source.lineStart(start);
    const end = endOf(lastNodeOfEntry(node, index), source);
    // Do not add a final newline to a text that has none.
    const isOpen = begin > 0 && end === source.text.length && source.text[end - 1] !== '\n';
    return [{ start: isOpen ? source.lineEnd(begin - 1) : begin, end, text: '' }];
  }
  if (index + 1 === node.items.length) throw new CannotEdit('the value is the only content of its line');
  return [{ start, end: startOfEntry(node, index + 1), text: '' }];
}

/** Inserts lines directly below the last line of a node. */
function insertBelow(node: unknown, source: TextSource, lines: readonly string[]): Splice {
  const end = endOf(node, source);
  if (end > 0 && source.text[end - 1] !== '\n') {
    return { start: end, end, text: lines.map((line) => source.eol + line).join('') };
  }
  return { start: end, end, text: lines.map((line) => line + source.eol).join('') };
}

interface Extent {
  readonly start: number;
  readonly end: number;
}

/** Adds a pair to an object in brackets, or an item to a list in brackets. The entry gets its own line if the adjacent entry has one. */
export function addToFlow(node: Collection, added: NewPair | NewItem, { source }: NodePlace): Splice[] {
  const extents = extentsOf(node);
  const { json } = source;
  const text =
    'key' in added ? flowPair(added.key, added.value, { json, style: added.style }) : flowValue(added.value, { json });
  const index = 'key' in added ? extents.length : added.index;
  const previous = extents[index - 1];
  const next = extents[index];
  const model = previous ?? next;
  if (model === undefined) {
    const [start, end] = rangeOf(node);
    const [open, close] = isMap(node) ? ['{', '}'] : ['[', ']'];
    const padding = isMap(node) && !json ? ' ' : '';
    return [{ start, end, text: `${open}${padding}${text}${padding}${close}` }];
  }
  const between = source.beginsLine(model.start)
    ? `,${source.eol}${source.text.slice(source.lineStart(model.start), model.start)}`
    : ', ';
  if (previous === undefined) return [{ start: model.start, end: model.start, text: text + between }];
  const lineEnd = source.lineEnd(previous.end);
  const isCommented = next === undefined && /^[ \t]+#/.test(source.text.slice(previous.end, lineEnd));
  if (isCommented && between !== ', ') {
    // The comment belongs to the previous entry.
    const comma = { start: previous.end, end: previous.end, text: ',' };
    return [comma, { start: lineEnd, end: lineEnd, text: between.slice(1) + text }];
  }
  return [{ start: previous.end, end: previous.end, text: between + text }];
}

export function removeFromFlow(node: Collection, index: number, { source }: NodePlace): Splice[] {
  const extents = extentsOf(node);
  const [start, end] = rangeOf(node);
  const own = extents[index] ?? { start: start + 1, end: end - 1 };
  const previous = extents[index - 1];
  const next = extents[index + 1];
  if (previous === undefined && next === undefined) return [{ start: start + 1, end: end - 1, text: '' }];
  if (hasOwnLines(source, own)) {
    const lines = { start: source.lineStart(own.start), end: source.nextLine(own.end), text: '' };
    if (next !== undefined || previous === undefined || hasComma(source, own.end)) return [lines];
    const comma = source.text.indexOf(',', previous.end);
    return source.text.slice(previous.end, comma).trim() === ''
      ? [{ start: comma, end: comma + 1, text: '' }, lines]
      : [{ start: previous.end, end: own.end, text: '' }];
  }
  if (previous !== undefined) return [{ start: previous.end, end: own.end, text: '' }];
  return [{ start: own.start, end: next?.start ?? own.end, text: '' }];
}

function hasOwnLines(source: TextSource, { start, end }: Extent): boolean {
  const rest = source.text.slice(end, source.lineEnd(end));
  return source.beginsLine(start) && /^[ \t]*,?[ \t]*(?:#.*)?$/.test(rest);
}

function hasComma({ text }: TextSource, offset: number): boolean {
  return /^[ \t]*,/.test(text.slice(offset, offset + 100));
}

/** Returns the start and end of each pair or item, without commas. */
function extentsOf(node: Collection): Extent[] {
  return node.items.map((entry) => {
    const { key, value } = isPair(entry) ? entry : { key: entry, value: null };
    const [start, end] = rangeOf(key);
    return { start, end: value == null ? end : Math.max(end, rangeOf(value)[1]) };
  });
}
