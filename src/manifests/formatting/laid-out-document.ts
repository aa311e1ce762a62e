import { isMap, isScalar, isSeq, type Node, type Pair, type Scalar } from 'yaml';
import { applySplices, type Splice } from '../editing/change.ts';
import {
  type Collection,
  endOf,
  isBlockScalar,
  lastNodeOfEntry,
  nodeOf,
  offsetAfterColon,
  rangeOf,
  startOfEntry,
  type TextSource,
} from '../editing/node-place.ts';
import { type KeyOrder, sortedIndices } from './key-order.ts';

/** Columns of indentation per level. */
const STEP = 2;

/** Thrown for a rare layout that is not supported. */
export class UnsupportedLayout extends Error {}

interface BlockEntry {
  readonly node: Node | null;
  readonly key: string | undefined;
  readonly start: number;
  /** The offset right after the entry's colon or dash. */
  readonly lead: number;
  readonly order: KeyOrder | undefined;
  /** The comments and blank lines before the entry, without indentation. */
  readonly before: readonly string[];
  /** The comments and blank lines after the entry's contents that are indented deeper than the entry. */
  readonly trailing: readonly Gap[];
}

interface Gap {
  /** Empty for a blank line. */
  readonly text: string;
  readonly column: number;
}

interface CollectionLayout {
  readonly source: TextSource;
  readonly indent: number;
  readonly order: KeyOrder | undefined;
  /** The offset at which the lines before the first entry start. */
  readonly from: number;
  readonly trailing: readonly Gap[];
}

/**
 * Formats the lines of a document: two columns per level, sorted keys, comments next to their entries, and at most one blank line in a row.
 * Scalars and values in brackets are unchanged, except that the keys of a one-line object in brackets are sorted.
 * @throws UnsupportedLayout
 */
export function layOutDocument(
  root: Node,
  { source, order, from, to }: { source: TextSource; order: KeyOrder | undefined; from: number; to: number },
): string[] {
  const end = endOf(root, source);
  const trailing = gapLines(source, end, to);
  const header = gapLines(source, from, source.lineStart(rangeOf(root)[0]));
  const headerLines = header.map(({ text }) => text);
  if (!isBlockCollection(root)) {
    const [first, last] = rangeOf(root);
    if (!source.beginsLine(first)) throw new UnsupportedLayout();
    const text = `${flowText(root, source, order)}${source.text.slice(last, end)}`.trimEnd();
    return trimBlankLines([...headerLines, ...text.split('\n'), ...trailing.map((gap) => gap.text)]);
  }
  const start = source.lineStart(startOfEntry(root, 0));
  return trimBlankLines([...headerLines, ...blockLines(root, { source, order, indent: 0, from: start, trailing })]);
}

/** Removes blank lines at the start and the end. */
function trimBlankLines(lines: readonly string[]): string[] {
  const first = lines.findIndex((line) => line !== '');
  return first === -1 ? [] : lines.slice(first, lines.findLastIndex((line) => line !== '') + 1);
}

function blockLines(node: Collection, layout: CollectionLayout): string[] {
  const { source, indent } = layout;
  const column = source.column(startOfEntry(node, 0));
  const own = layout.trailing.findIndex(
    (gap, index) => isOwn(gap, column) && !deeperFollows(layout.trailing, index, column),
  );
  const deeper = own === -1 ? layout.trailing : layout.trailing.slice(0, own);
  const entries = entriesOf(node, { ...layout, trailing: deeper });
  const keys = entries.map(({ key }) => key ?? '');
  const indices = isMap(node) ? sortedIndices(keys, layout.order) : keys.map((_, index) => index);
  const margin = ' '.repeat(indent);
  const lines: string[] = [];
  for (const index of indices) {
    const entry = entries[index];
    if (entry === undefined) continue;
    const before = lines.length === 0 ? withoutLeadingBlanks(entry.before) : entry.before;
    for (const line of before) lines.push(line === '' ? '' : margin + line);
    lines.push(...entryLines(entry, { source, indent, isItem: isSeq(node), column }));
  }
  const tail = own === -1 ? [] : layout.trailing.slice(own);
  for (const { text } of tail) lines.push(text === '' ? '' : margin + text);
  return lines;
}

function isOwn({ text, column: at }: Gap, column: number): boolean {
  return text === '' || at <= column;
}

function deeperFollows(gaps: readonly Gap[], index: number, column: number): boolean {
  const next = gaps.slice(index).find(({ text }) => text !== '');
  return gaps[index]?.text === '' && next !== undefined && next.column > column;
}

function withoutLeadingBlanks(lines: readonly string[]): readonly string[] {
  const first = lines.findIndex((line) => line !== '');
  return first === -1 ? [] : lines.slice(first);
}

function entriesOf(node: Collection, { source, order, from, trailing }: CollectionLayout): BlockEntry[] {
  const column = source.column(startOfEntry(node, 0));
  const parts = isMap(node)
    ? node.items.map((pair) => partOfPair(pair))
    : node.items.map((item) => ({ key: undefined, node: nodeOf(item) }));
  const gaps: { before: readonly Gap[]; after: readonly Gap[] }[] = [];
  let end = from;
  for (const [index] of parts.entries()) {
    const start = startOfEntry(node, index);
    const lines = source.beginsLine(start) ? gapLines(source, end, source.lineStart(start)) : [];
    const other = lines.findIndex(({ text, column: at }) => text !== '' && at <= column);
    const deep =
      index === 0 ? -1 : lines.slice(0, other === -1 ? undefined : other).findLastIndex(({ text }) => text !== '');
    gaps.push({ before: lines.slice(deep + 1), after: lines.slice(0, deep + 1) });
    end = endOf(lastNodeOfEntry(node, index), source);
  }
  return parts.map(({ key, node: value }, index) => ({
    key,
    node: value,
    start: startOfEntry(node, index),
    lead: leadOf(node, index),
    order: order?.inner(key ?? index),
    before: (gaps[index]?.before ?? []).map(({ text }) => text),
    trailing: index === parts.length - 1 ? trailing : (gaps[index + 1]?.after ?? []),
  }));
}

interface EntryLayout {
  readonly source: TextSource;
  readonly indent: number;
  readonly isItem: boolean;
  /** The column of the entry in its source. */
  readonly column: number;
}

function entryLines(entry: BlockEntry, { source, indent, isItem, column }: EntryLayout): string[] {
  const { node, start, lead, order, trailing } = entry;
  const margin = ' '.repeat(indent);
  const name = isItem ? '-' : `${source.text.slice(start, lead - 1).trimEnd()}:`;
  const tail = trailing.map(({ text }) => (text === '' ? '' : margin + text));
  if (name.includes('\n') || name.startsWith('?')) throw new UnsupportedLayout();
  if (!isBlockCollection(node)) {
    const end = node === null ? lead : Math.max(rangeOf(node)[1], lead);
    const shift = indent - column;
    return [...valueLines(`${margin}${name}`, node, { source, lead, end, shift, indent, order }), ...tail];
  }
  const first = startOfEntry(node, 0);
  const isCompact = source.lineStart(first) === source.lineStart(start);
  const rest = isCompact ? '' : source.text.slice(lead, source.lineEnd(lead)).trim();
  const from = isCompact ? source.lineStart(first) : source.nextLine(lead);
  if (isCompact && source.text.slice(lead, first).trim() !== '') throw new UnsupportedLayout();
  const lines = blockLines(node, { source, order, indent: indent + STEP, from, trailing });
  if (isItem && rest === '') return [`${margin}- ${(lines[0] ?? '').trimStart()}`, ...lines.slice(1)];
  return [`${margin}${name}${rest === '' ? '' : ` ${rest}`}`, ...lines];
}

interface ValueLayout {
  readonly source: TextSource;
  readonly lead: number;
  readonly end: number;
  /** The number of columns that the value moves to the right. */
  readonly shift: number;
  readonly indent: number;
  readonly order: KeyOrder | undefined;
}

/** Formats a scalar, an alias or a value in brackets, with its comment. */
function valueLines(name: string, node: Node | null, layout: ValueLayout): string[] {
  const { source, lead, end, shift, indent, order } = layout;
  if (isBlockScalar(node)) return blockScalarLines(name, node, layout);
  const [start] = node === null ? [lead] : rangeOf(node);
  const own = node === null ? '' : flowText(node, source, order);
  const before = source.text.slice(lead, Math.max(start, lead));
  const text = `${before}${own}${source.text.slice(end, source.lineEnd(end)).trimEnd()}`;
  return text.split('\n').map((line, index) => {
    const content = line.trimStart();
    if (index === 0) return `${name}${content === '' ? '' : ` ${content}`}`;
    const column = Math.max(line.length - content.length + shift, indent + 1);
    return content === '' ? '' : ' '.repeat(column) + content;
  });
}

function blockScalarLines(name: string, node: Scalar, { source, lead, end, shift, indent }: ValueLayout): string[] {
  const [start] = rangeOf(node);
  const header = source.text.slice(lead, source.lineEnd(start)).trim();
  if (header.includes('\n')) throw new UnsupportedLayout();
  const content = source.text
    .slice(Math.min(source.nextLine(start), end), end)
    .replace(/\n$/, '')
    .split('\n');
  const explicitIndent = /^[|>][-+]?([1-9])/.exec(source.text.slice(start))?.[1];
  const old = Math.min(
    ...content.filter((line) => line.trim() !== '').map((line) => /^ */.exec(line)?.[0].length ?? 0),
  );
  const before = explicitIndent === undefined ? old : indent - shift + Number(explicitIndent);
  const margin = ' '.repeat(indent + (explicitIndent === undefined ? STEP : Number(explicitIndent)));
  if (content.every((line) => line === '')) return [`${name} ${header}`, ...content];
  if (!Number.isFinite(before)) throw new UnsupportedLayout();
  return [
    `${name} ${header}`,
    ...content.map((line) => (line.slice(before) === '' ? '' : margin + line.slice(before))),
  ];
}

/** Returns comments and blank lines, with at most one blank line in a row. */
function gapLines(source: TextSource, from: number, to: number): Gap[] {
  if (to <= from) return [];
  const lines = source.text.slice(from, to).replace(/\n$/, '').split('\n');
  const gaps: Gap[] = [];
  for (const line of lines) {
    const text = line.trim();
    if (text !== '' && !text.startsWith('#')) throw new UnsupportedLayout();
    if (text === '' && gaps.at(-1)?.text === '') continue;
    gaps.push({ text, column: line.length - line.trimStart().length });
  }
  return gaps;
}

function leadOf(node: Collection, index: number): number {
  const lead = isSeq(node) ? startOfEntry(node, index) + 1 : offsetAfterColon(node.items[index]);
  if (lead === undefined) throw new UnsupportedLayout();
  return lead;
}

function partOfPair(pair: Pair): { readonly key: string; readonly node: Node | null } {
  if (!isScalar(pair.key)) throw new UnsupportedLayout();
  return { key: String(pair.key.value), node: nodeOf(pair.value) };
}

function isBlockCollection(node: unknown): node is Collection {
  return (isMap(node) || isSeq(node)) && node.flow !== true && node.items.length > 0;
}

/** Returns a node as written, except that the keys of a one-line object in brackets are sorted. */
function flowText(node: Node, source: TextSource, order: KeyOrder | undefined): string {
  const [start, end] = rangeOf(node);
  const text = source.text.slice(start, end);
  if (order === undefined || text.includes('\n')) return text;
  const parts = partsOf(node, source, order);
  if (parts.length === 0) return text;
  const indices = isMap(node)
    ? sortedIndices(
        parts.map(({ key }) => key),
        order,
      )
    : parts.map((_, index) => index);
  const splices = parts.map((part, index) => ({
    start: part.start - start,
    end: part.end - start,
    text: parts[indices[index] ?? index]?.text ?? '',
  }));
  return applySplices(text, splices);
}

interface FlowPart extends Splice {
  readonly key: string;
}

function partsOf(node: Node, source: TextSource, order: KeyOrder): FlowPart[] {
  if (isSeq(node)) {
    return node.items.map((item, index) => {
      const [start, end] = rangeOf(item);
      return { key: '', start, end, text: flowText(item as Node, source, order.inner(index)) };
    });
  }
  if (!isMap(node)) return [];
  return node.items.map(({ key, value }) => {
    const name = isScalar(key) ? String(key.value) : '';
    const [start, keyEnd] = rangeOf(key);
    if (value == null) return { key: name, start, end: keyEnd, text: source.text.slice(start, keyEnd) };
    const [from, to] = rangeOf(value);
    const end = Math.max(keyEnd, to);
    const inner = from < keyEnd ? '' : flowText(value as Node, source, order.inner(name));
    return { key: name, start, end, text: source.text.slice(start, Math.max(from, keyEnd)) + inner };
  });
}
