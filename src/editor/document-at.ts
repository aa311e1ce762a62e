import { type Document, isAlias, isMap, isScalar, isSeq, type Node, type Scalar } from 'yaml';
import type { DocumentPath } from '../manifests/finding.ts';
import { overLimit, parseYaml } from '../manifests/parse-documents.ts';
import { plainValue } from '../manifests/plain-value.ts';
import type { Json } from '../values/json.ts';
import type { TextRange } from './snapshot.ts';

/** A scalar or alias of a possibly broken document, with its place. */
export interface PlacedNode {
  readonly node: Node;
  /** The path of the value; for a key, that of its object. */
  readonly path: DocumentPath;
  readonly at: 'key' | 'value';
  /** The key of the value; undefined for a key and for an item. */
  readonly key: Scalar | undefined;
  /** True inside brackets. */
  readonly flow: boolean;
}

interface OpenDocument {
  /** Its start in the text. */
  readonly start: number;
  readonly text: string;
}

const MARK = /^(?:---|\.\.\.)(?=\s|$)/gm;

/** The document around an offset, found by its marks, so that errors in others do not matter. */
export function documentAround(text: string, offset: number): OpenDocument {
  let start = 0;
  let end = text.length;
  for (const { index } of text.matchAll(MARK)) {
    if (index <= offset) start = index;
    else {
      end = index;
      break;
    }
  }
  return { start, text: text.slice(start, end) };
}

/** Characters. No larger file is read as a manifest. */
const LONGEST = 1024 * 1024;

/** The parser's result with its errors; nothing for unreadable parts. */
export function documentsIn(text: string): readonly Document.Parsed[] {
  if (text.length > LONGEST || overLimit(text) !== undefined) return [];
  try {
    return parseYaml(text);
  } catch (error) {
    if (error instanceof RangeError) return [];
    throw error;
  }
}

/** The readable part of a document's value. */
export function readableValue(document: Document.Parsed | undefined): Json {
  return document?.contents == null ? null : (plainValue(document.contents).value ?? null);
}

/** All scalars and aliases of a document, in order. */
export function* placedNodes(
  node: unknown,
  place: Pick<PlacedNode, 'path' | 'key' | 'flow'> = { path: [], key: undefined, flow: false },
): Generator<PlacedNode> {
  const { path } = place;
  if (isScalar(node) || isAlias(node)) yield { node, at: 'value', ...place };
  else if (isMap(node)) {
    const flow = place.flow || node.flow === true;
    for (const { key, value } of node.items) {
      if (!isScalar(key)) continue;
      yield { node: key, path, at: 'key', key: undefined, flow };
      yield* placedNodes(value, { path: [...path, String(key.value)], key, flow });
    }
  } else if (isSeq(node)) {
    const flow = place.flow || node.flow === true;
    for (const [index, item] of node.items.entries())
      yield* placedNodes(item, { path: [...path, index], key: undefined, flow });
  }
}

/** The range of the node's own text, without anchor and tag. */
export function rangeIn(node: Node): TextRange {
  const [start = 0, end = 0] = node.range ?? [];
  return { start, end };
}
