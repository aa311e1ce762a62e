import {
  type Document,
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Pair,
  Scalar,
  type YAMLMap,
} from 'yaml';
import { compareDiagnostics, type Diagnostic } from '../problems/diagnostic.ts';
import { type DocumentPlace, type Finding, formatPath } from './finding.ts';
import { parseYaml } from './parse-documents.ts';
import { readTextFile } from './read-file.ts';

/**
 * Converts findings to sorted diagnostics and keeps only the first one for each value. Files whose findings have places are parsed again
 * here, one after the other, because keeping all parsed files for rare diagnostics would need too much memory.
 * @param absolute returns the absolute path of a finding's file.
 */
export function locate(findings: readonly Finding[], absolute: (file: string) => string): Diagnostic[] {
  const located = new Map<string, Diagnostic>();
  for (const [file, fileFindings] of Map.groupBy(findings, (finding) => finding.file)) {
    const distinct = [...new Map(fileFindings.map((finding) => [JSON.stringify(finding), finding])).values()];
    const listed = distinct.slice(0, MAX_PER_FILE);
    if (distinct.length > MAX_PER_FILE) listed.push(omittedFindings(file, distinct.length - MAX_PER_FILE));
    for (const diagnostic of toDiagnostics(listed, absolute)) {
      const { line, column, path, code, message } = diagnostic;
      const about = path === undefined ? [code, message] : [path];
      const key = JSON.stringify([file, line, column, ...about]);
      if (!located.has(key)) located.set(key, diagnostic);
    }
  }
  return [...located.values()].sort(compareDiagnostics);
}

/** Converts findings to diagnostics, in the same order. */
export function toDiagnostics(findings: readonly Finding[], absolute: (file: string) => string): readonly Diagnostic[] {
  const diagnostics = new Map<Finding, Diagnostic>();
  for (const [file, fileFindings] of Map.groupBy(findings, (finding) => finding.file)) {
    const position = fileFindings.some((finding) => finding.place) ? positionsOf(absolute(file)) : undefined;
    for (const found of fileFindings) {
      const { place, absent: _, ...finding } = found;
      diagnostics.set(found, {
        ...finding,
        message: oneLine(finding.message),
        ...(place && position?.(place)),
        ...(place && place.path.length > 0 && { path: formatPath(place.path) }),
      });
    }
  }
  return findings.map((finding) => diagnostics.get(finding) ?? finding);
}

/** The maximum number of listed findings per file. A generated file may have 100,000 problems, and each takes time to locate. */
const MAX_PER_FILE = 1000;

function omittedFindings(file: string, count: number): Finding {
  const message = `${count} more problems in this file are not listed`;
  return { severity: 'error', code: 'too-many-problems', message, file };
}

/** Escapes control characters and line separators, because messages quote text from the user. */
function oneLine(message: string): string {
  return message
    .toWellFormed()
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\uFEFF]/gu, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}

type Position = { readonly line: number; readonly column: number };

/** Returns the line and column of a path in a document, or undefined if the file cannot be read. */
export function positionIn(file: string, place: DocumentPlace): Position | undefined {
  return positionsOf(file)?.(place);
}

function positionsOf(file: string): ((place: DocumentPlace) => Position) | undefined {
  const read = readTextFile(file);
  if (!('text' in read)) return undefined;
  const lines = new LineCounter();
  const documents = parseYaml(read.text, lines);
  if (documents.length === 0) return undefined;
  return (place) => {
    const document = documents[place.document];
    const offset = document === undefined ? 0 : offsetAt(document, place, read.text);
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  };
}

/** Returns the offset of a place, or of its nearest existing parent. */
function offsetAt(document: Document.Parsed, place: DocumentPlace, text: string): number {
  let node: unknown = document.contents;
  let offset = startOf(node) ?? 0;
  for (const [index, part] of place.path.entries()) {
    if (isAlias(node)) node = node.resolve(document);
    let next: unknown;
    if (typeof part === 'number') {
      next = isSeq(node) ? node.items[part] : undefined;
      if (next === undefined) return offset;
      offset = startOf(next) ?? offset;
    } else {
      const pair = pairAt(node, part, document);
      if (pair === undefined) return (part.startsWith('$') ? startOf(node) : undefined) ?? offset;
      next = pair.value;
      const last = index === place.path.length - 1;
      const atKey = last && (place.at === 'key' || isEmptyScalar(next));
      offset = (atKey || !last ? undefined : startOf(next)) ?? startOf(pair.key) ?? offset;
    }
    node = next;
  }
  return (place.offset === undefined ? undefined : scalarOffset(node, text, place.offset)) ?? offset;
}

function pairAt(node: unknown, key: string, document: Document.Parsed): Pair | undefined {
  const map = isAlias(node) ? node.resolve(document) : node;
  if (!isMap(map)) return undefined;
  const own = indexOf(map).get(key);
  if (own !== undefined) return own;
  for (const { key: mergeKey, value } of map.items) {
    if (!isScalar(mergeKey) || mergeKey.value !== '<<') continue;
    for (const source of isSeq(value) ? value.items : [value]) {
      const found = pairAt(source, key, document);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

const indices = new WeakMap<YAMLMap, ReadonlyMap<unknown, Pair>>();

/** Indexes the pairs of a map by key. If a key is duplicated, the last pair is used. */
function indexOf(map: YAMLMap): ReadonlyMap<unknown, Pair> {
  const known = indices.get(map);
  if (known !== undefined) return known;
  const index = new Map(map.items.map((pair) => [isScalar(pair.key) ? pair.key.value : pair.key, pair]));
  indices.set(map, index);
  return index;
}

function isEmptyScalar(node: unknown): boolean {
  return node === null || (isScalar(node) && node.value === null && node.range?.[0] === node.range?.[1]);
}

function startOf(node: unknown): number | undefined {
  const target = isPair(node) ? node.key : node;
  return isAlias(target) || isScalar(target) || isMap(target) || isSeq(target) ? target.range?.[0] : undefined;
}

/** The length of an escape in a double-quoted scalar, including the backslash. Other escapes have two characters. */
const ESCAPES: Readonly<Record<string, number>> = { x: 4, u: 6, U: 10 };

/**
 * Returns the offset in the file of a character in a scalar's value. Walks the value and the file in parallel, and skips indentation and
 * folded line breaks. Returns undefined if the node is not a string.
 */
export function scalarOffset(node: unknown, text: string, offset: number): number | undefined {
  if (!isScalar(node) || typeof node.value !== 'string' || !node.range) return undefined;
  const { value, type, range } = node;
  const [start, end] = range;
  const isBlock = type === Scalar.BLOCK_LITERAL || type === Scalar.BLOCK_FOLDED;
  const isQuoted = type === Scalar.QUOTE_DOUBLE || type === Scalar.QUOTE_SINGLE;
  const begin = isBlock ? text.indexOf('\n', start) + 1 : isQuoted ? start + 1 : start;
  const indent = isBlock ? indentation(text.slice(begin, end)) : Number.POSITIVE_INFINITY;

  const lineBegin = (from: number): number => {
    let at = from;
    while (at < end && at - from < indent && /[ \t]/.test(text.charAt(at))) at += 1;
    return at;
  };
  const lineBreak = (at: number): number => (text.startsWith('\r\n', at) ? 2 : text.startsWith('\n', at) ? 1 : 0);

  let at = lineBegin(begin);
  let index = 0;
  while (index < offset && at < end) {
    const expected = value.charAt(index);
    const actual = text.charAt(at);
    const breakLength = lineBreak(at);
    if (/\s/.test(actual) && !/\s/.test(expected)) at += 1;
    else if (breakLength > 0) {
      // Skip all line breaks at once, because one of them may be folded.
      while (lineBreak(at) > 0) at = lineBegin(at + lineBreak(at));
      index += expected === '\n' ? (/^\n+/.exec(value.slice(index))?.[0].length ?? 1) : 1;
    } else if (type === Scalar.QUOTE_DOUBLE && actual === '\\') {
      const joined = lineBreak(at + 1);
      at = joined > 0 ? lineBegin(at + 1 + joined) : at + (ESCAPES[text.charAt(at + 1)] ?? 2);
      if (joined === 0) index += 1;
    } else {
      at += type === Scalar.QUOTE_SINGLE && actual === "'" ? 2 : 1;
      index += 1;
    }
  }
  return Math.min(at, end);
}

/** Returns the indentation of the first line that is not blank. */
function indentation(block: string): number {
  return /^(?:[ \t]*\r?\n)*( *)/.exec(block)?.[1]?.length ?? 0;
}
