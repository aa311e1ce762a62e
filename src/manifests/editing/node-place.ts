import { isAlias, isMap, isScalar, isSeq, type Node, type Pair, type Scalar, type YAMLMap, type YAMLSeq } from 'yaml';
import type { DocumentPath } from '../finding.ts';
import { CannotEdit, type Splice } from './change.ts';

/** The text to edit, with its layout. */
export class TextSource {
  readonly text: string;
  /** True if values must use JSON syntax. */
  readonly json: boolean;
  /** True to write new values on one line. Used after the usual layout gave a wrong result. */
  readonly compact: boolean;
  /** The line ending of the text. */
  readonly eol: string;
  /** The indentation of the contents of an object, in columns. */
  readonly step: number;
  /** The indentation of list items under their key, in columns. */
  readonly listStep: number;

  constructor(text: string, { json, compact = false }: { readonly json: boolean; readonly compact?: boolean }) {
    this.text = text;
    this.json = json;
    this.compact = compact;
    this.eol = /\r?\n/.exec(text)?.[0] ?? '\n';
    this.step = stepIn(text, /^( *)(?:- )*[^\s#][^\n]*:[ \t]*(?:#[^\n]*)?\n(\1 +)[^\s#-]/m) ?? 2;
    this.listStep = stepIn(text, /^( *)[^\s#-][^\n]*:[ \t]*(?:#[^\n]*)?\n(\1 *)- /m) ?? this.step;
  }

  lineStart(offset: number): number {
    return this.text.lastIndexOf('\n', offset - 1) + 1;
  }

  /** Returns the end of the line, before its line ending. */
  lineEnd(offset: number): number {
    const newline = this.text.indexOf('\n', offset);
    if (newline === -1) return this.text.length;
    return this.text[newline - 1] === '\r' ? newline - 1 : newline;
  }

  /** Returns the start of the next line, or the end of the text. */
  nextLine(offset: number): number {
    const newline = this.text.indexOf('\n', offset);
    return newline === -1 ? this.text.length : newline + 1;
  }

  column(offset: number): number {
    return offset - this.lineStart(offset);
  }

  /** Returns true if only spaces and tabs precede the offset on its line. */
  beginsLine(offset: number): boolean {
    return /^[ \t]*$/.test(this.text.slice(this.lineStart(offset), offset));
  }

  /** Returns true if only spaces, tabs and a comment follow the offset on its line. */
  endsLine(offset: number): boolean {
    return /^(?:[ \t]*|[ \t]+#.*)$/.test(this.text.slice(offset, this.lineEnd(offset)));
  }

  /** Returns the splice that inserts lines after the line of `offset`. That line may be the last one. */
  linesAfter(offset: number, lines: readonly string[]): Splice {
    const end = this.lineEnd(offset);
    return { start: end, end, text: lines.map((line) => this.eol + line).join('') };
  }
}

function stepIn(text: string, pattern: RegExp): number | undefined {
  const match = pattern.exec(text.replaceAll('\r\n', '\n'));
  return match === null ? undefined : (match[2] ?? '').length - (match[1] ?? '').length;
}

export type Collection = YAMLMap | YAMLSeq;

/** The properties of a node's position that determine how to write its value. */
export interface NodePlace {
  readonly source: TextSource;
  readonly path: DocumentPath;
  readonly flow: boolean;
  /** The column of the node's key or dash, in block style. */
  readonly column: number;
  /** The offset right after the colon of the node's key, or after its dash. Zero if the node has neither. */
  readonly lead: number;
  /** True for an item of a block list. */
  readonly isItem: boolean;
}

export function placeOfPair(map: YAMLMap, pair: Pair, { source, path, flow }: NodePlace): NodePlace {
  const [start, end] = rangeOf(pair.key);
  return {
    source,
    path: [...path, isScalar(pair.key) ? String(pair.key.value) : ''],
    flow: flow || map.flow === true,
    column: source.column(start),
    lead: offsetAfterColon(pair) ?? end,
    isItem: false,
  };
}

export function placeOfItem(list: YAMLSeq, index: number, { source, path, flow }: NodePlace): NodePlace {
  const dash = dashOf(list, index);
  return {
    source,
    path: [...path, index],
    flow: flow || list.flow === true,
    column: dash === undefined ? 0 : source.column(dash),
    lead: dash === undefined ? 0 : dash + 1,
    isItem: true,
  };
}

export function nodeOf(value: unknown): Node | null {
  return isScalar(value) || isMap(value) || isSeq(value) || isAlias(value) ? value : null;
}

/** Returns the range of the node's text. */
export function rangeOf(value: unknown): readonly [number, number] {
  const range = nodeOf(value)?.range;
  if (range == null) throw new CannotEdit('the value has no position in the file');
  return [range[0], range[1]];
}

export function offsetAfterColon(pair: Pair | undefined): number | undefined {
  const colon = pair?.srcToken?.sep?.find(({ type }) => type === 'map-value-ind');
  return colon && colon.offset + 1;
}

function dashOf(list: YAMLSeq, index: number): number | undefined {
  const token = list.srcToken;
  if (token?.type !== 'block-seq') return undefined;
  return token.items[index]?.start.find(({ type }) => type === 'seq-item-ind')?.offset;
}

/** Returns the start of a pair or item in a block collection. */
export function startOfEntry(node: Collection, index: number): number {
  if (isMap(node)) {
    const pair = node.items[index];
    const explicit = pair?.srcToken?.start.find(({ type }) => type === 'explicit-key-ind' || type === 'anchor');
    return explicit?.offset ?? rangeOf(pair?.key)[0];
  }
  const dash = dashOf(node, index);
  if (dash === undefined) throw new CannotEdit('the list is not in block style');
  return dash;
}

export function lastNodeOfEntry(node: Collection, index: number): unknown {
  return isMap(node) ? (node.items[index]?.value ?? node.items[index]?.key) : node.items[index];
}

/** Returns the start of the line after a node, or the end of the text. */
export function endOf(node: unknown, source: TextSource): number {
  if ((isMap(node) || isSeq(node)) && node.flow !== true && node.items.length > 0) {
    return endOf(lastNodeOfEntry(node, node.items.length - 1), source);
  }
  const [, end] = rangeOf(node);
  return isBlockScalar(node) && source.text[end - 1] === '\n' ? end : source.nextLine(end);
}

export function isBlockScalar(node: unknown): node is Scalar {
  return isScalar(node) && (node.type === 'BLOCK_LITERAL' || node.type === 'BLOCK_FOLDED');
}
