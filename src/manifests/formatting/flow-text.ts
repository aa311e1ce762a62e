import { isMap, isScalar, isSeq, type Node } from 'yaml';
import { rangeOf } from '../write-back/node-place.ts';
import { spliced, type TextSource } from '../write-back/text-source.ts';
import { type KeyOrder, sortedPositions } from './key-order.ts';

/** A node as written. The keys of a one-line object in brackets are sorted. */
export function flowText(node: Node, source: TextSource, order: KeyOrder | undefined): string {
  const [start, end] = rangeOf(node);
  const text = source.text.slice(start, end);
  if (order === undefined || text.includes('\n')) return text;
  const parts = partsOf(node, source, order);
  if (parts.length === 0) return text;
  const positions = isMap(node)
    ? sortedPositions(
        parts.map(({ key }) => key),
        order,
      )
    : parts.map((_, index) => index);
  const splices = parts.map((part, index) => ({
    start: part.start - start,
    end: part.end - start,
    text: parts[positions[index] ?? index]?.text ?? '',
  }));
  return spliced(text, splices);
}

interface FlowPart {
  readonly key: string;
  readonly start: number;
  readonly end: number;
  /** With sorted contents. */
  readonly text: string;
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
