import { type Document, isAlias, isMap, isScalar, isSeq, type Node, type Scalar } from 'yaml';
import type { DocumentPath } from '../manifests/finding.ts';
import { overLimit, parseYaml } from '../manifests/parse-documents.ts';
import { plainValue } from '../manifests/plain-value.ts';
import type { Json } from '../values/json.ts';
import type { TextRange } from './snapshot.ts';

/** A scalar or alias with its place in a document, which may be invalid. */
export interface PlacedNode {
  readonly node: Node;
  /** The path of the value; for a key, the path of its object. */
  readonly path: DocumentPath;
  readonly at: 'key' | 'value';
  /** The key of the value; undefined for a key and for an item of a list. */
  readonly key: Scalar | undefined;
  /** True inside brackets or braces (YAML flow style). */
  readonly flow: boolean;
}

interface OpenDocument {
  /** The offset of the document in the text. */
  readonly start: number;
  readonly text: string;
}

const MARK = /^(?:---|\.\.\.)(?=\s|$)/gm;

/** Returns the document around an offset. It is delimited by document markers, so errors in other documents do not matter. */
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

/** The maximum number of characters. Larger files are never read as manifests. */
const MAX_TEXT_LENGTH = 1024 * 1024;

/** Parses the documents of a text, which may have errors. Returns none if the text exceeds a limit. */
export function documentsIn(text: string): readonly Document.Parsed[] {
  if (text.length > MAX_TEXT_LENGTH || overLimit(text) !== undefined) return [];
  try {
    return parseYaml(text);
  } catch (error) {
    if (error instanceof RangeError) return [];
    throw error;
  }
}

/** Returns the readable part of a document's value. */
export function readableValue(document: Document.Parsed | undefined): Json {
  return document?.contents == null ? null : (plainValue(document.contents).value ?? null);
}

/** Yields all scalars and aliases of a document in order. */
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

/** Returns the range of a node without its anchor and tag. */
export function rangeIn(node: Node): TextRange {
  const [start = 0, end = 0] = node.range ?? [];
  return { start, end };
}
