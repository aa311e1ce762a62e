import { isScalar } from 'yaml';
import { type DocumentPath, follow } from '../manifests/finding.ts';
import { isObject, type Json } from '../values/json.ts';
import { documentAround, documentsIn, placedNodes, rangeIn, readableValue } from './document-at.ts';
import type { TextRange } from './snapshot.ts';

/** The context of the cursor in a text that may be invalid YAML. */
export interface TextCursor {
  /** The path of the value; for a key, the path of its object. */
  readonly path: DocumentPath;
  /** `either` for a single word below its key, because the word may become the first key of an object. */
  readonly at: 'key' | 'value' | 'either';
  /** The range that a completion replaces: the whole key or value, including quotes. */
  readonly range: TextRange;
  /** The text of the range up to the cursor, without its opening quote. */
  readonly typed: string;
  readonly style: 'PLAIN' | 'QUOTE_DOUBLE' | 'QUOTE_SINGLE';
  /** True in a block scalar, where only rule conditions have completions. */
  readonly isBlock: boolean;
  readonly flow: boolean;
  /** True if the text is JSON, so that completions use JSON syntax. */
  readonly json: boolean;
  /** True if a colon already follows the range. */
  readonly hasColon: boolean;
  /** The readable part of the document's value. */
  readonly value: Json;
  /** The other keys of the object. */
  readonly siblings: ReadonlySet<string>;
}

/** A letter that replaces the text after the cursor, so that the parser always finds a scalar at the cursor. */
const LETTER = 'x';

/** Returns undefined in comments and other places without completions. */
export function cursorAt(text: string, offset: number): TextCursor | undefined {
  const { start, text: whole } = documentAround(text, offset);
  const position = offset - start;
  const before = documentsIn(whole.slice(0, position) + LETTER).at(-1);
  const found = [...placedNodes(before?.contents)].findLast(({ node }) => {
    const range = rangeIn(node);
    return range.start <= position && position < range.end;
  });
  if (found === undefined || !isScalar(found.node)) return undefined;
  const { node, path, at, key, flow } = found;
  const isBlock = node.type?.startsWith('BLOCK') ?? false;
  const style = isBlock ? 'PLAIN' : (node.type ?? 'PLAIN');
  if (style !== 'PLAIN' && style !== 'QUOTE_DOUBLE' && style !== 'QUOTE_SINGLE') return undefined;
  const wordStart = rangeIn(node).start;
  const token = whole.slice(wordStart, position);
  if (token.includes('\n') && !isBlock) return undefined;

  const rest = restOf(whole.slice(position), style, { flow, isEmpty: token === '' });
  const value = readableValue(documentsIn(whole).at(-1));
  const isAlone =
    !flow && style === 'PLAIN' && (key === undefined || whole.slice(rangeIn(key).end, wordStart).includes('\n'));
  const siblings = new Set([...keysAt(readableValue(before), path), ...keysAt(value, path)]);
  siblings.delete(unquote(token + rest));
  siblings.delete(unquote(token + LETTER));
  return {
    path,
    at: at === 'value' && isAlone ? 'either' : at,
    range: { start: start + wordStart, end: start + position + rest.length },
    typed: style === 'PLAIN' ? token : token.slice(1),
    style,
    isBlock,
    flow,
    json: /^\s*[{[]/.test(whole),
    hasColon: /^[ \t]*:/.test(whole.slice(position + rest.length)),
    value,
    siblings,
  };
}

const QUOTED: Readonly<Record<string, RegExp>> = {
  QUOTE_DOUBLE: /^(?:[^"\\\r\n]|\\.)*"/,
  QUOTE_SINGLE: /^(?:[^'\r\n]|'')*'/,
};
const PLAIN = /^(?:(?!:(?:\s|$)|\s#)[^\r\n])*/;
const PLAIN_IN_BRACKETS = /^(?:(?!:(?:[\s,[\]{}]|$)|\s#)[^\r\n,[\]{}])*/;

/** Returns the text after the cursor that continues the word before the cursor. */
function restOf(
  line: string,
  style: TextCursor['style'],
  { flow, isEmpty }: { readonly flow: boolean; readonly isEmpty: boolean },
): string {
  if (style !== 'PLAIN') return QUOTED[style]?.exec(line)?.[0] ?? '';
  if (/^\s/.test(line) || (isEmpty && /^[{["'&*!|>#-]/.test(line))) return '';
  return ((flow ? PLAIN_IN_BRACKETS : PLAIN).exec(line)?.[0] ?? '').trimEnd();
}

function keysAt(value: Json, path: DocumentPath): readonly string[] {
  const found = follow(value, path);
  return found.depth === path.length && isObject(found.value) ? Object.keys(found.value) : [];
}

function unquote(token: string): string {
  return token.replace(/^["']/, '').replace(/["']$/, '');
}
