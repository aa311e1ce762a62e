import { type Document, isAlias, isMap, isScalar, isSeq, type Node, type Scalar } from 'yaml';
import type { DocumentPath } from '../manifests/finding.ts';
import { overLimit } from '../manifests/parse-documents.ts';
import { parseYaml } from '../manifests/parse-yaml.ts';
import { plainValue } from '../manifests/plain-value.ts';
import type { Json } from '../values/json.ts';
import type { TextRange } from './snapshot.ts';

/** A scalar or alias of a document that may be broken, and where it stands. */
export interface PlacedNode {
  readonly node: Node;
  /** Of the value; for a key, that of its object. */
  readonly path: DocumentPath;
  readonly at: 'key' | 'value';
  /** The key whose value it is; undefined for a key itself and for an item. */
  readonly key: Scalar | undefined;
  /** True inside brackets. */
  readonly flow: boolean;
}

/** One document of a text. */
interface OpenDocument {
  /** Where it begins in the text. */
  readonly start: number;
  readonly text: string;
}

const MARK = /^(?:---|\.\.\.)(?=\s|$)/gm;

/** The document around an offset, told by its marks alone: what is broken in another one does not count. */
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

/** Characters: no larger file is read as a manifest. */
const LONGEST = 1024 * 1024;

/** What the parser makes of a text, errors and all; nothing of what it cannot read. */
export function documentsIn(text: string): readonly Document.Parsed[] {
  if (text.length > LONGEST || overLimit(text) !== undefined) return [];
  try {
    return parseYaml(text);
  } catch (error) {
    if (error instanceof RangeError) return [];
    throw error;
  }
}

/** What a document says, as far as it can be read. */
export function readableValue(document: Document.Parsed | undefined): Json {
  return document?.contents == null ? null : (plainValue(document.contents).value ?? null);
}

/** Every scalar and alias of a document, in the order of the text. */
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

/** Of the node's own text, anchor and tag left out. */
export function rangeIn(node: Node): TextRange {
  const [start = 0, end = 0] = node.range ?? [];
  return { start, end };
}
