import { parseDocument } from 'yaml';
import { type Json, jsonEqual } from '../../values/json.ts';
import { CannotEdit } from '../editing/change.ts';
import { isJson, slicesOf } from '../editing/edit-text.ts';
import { TextSource } from '../editing/node-place.ts';
import { type ParseProblem, parseDocuments, yamlOptions } from '../parse-documents.ts';
import { tokensOf } from '../syntax-problem.ts';
import { type KeyOrder, withOrderedKeys } from './key-order.ts';
import { layOutDocument, UnsupportedLayout } from './laid-out-document.ts';

type OrderOf = (document: Json) => KeyOrder | undefined;

type FormatResult = { readonly text: string } | { readonly problems: readonly ParseProblem[] };

/**
 * Returns a YAML or JSON text in canonical form, with the same contents and comments, or its problems. Formatting is idempotent. All line
 * endings are replaced with the first line ending of the text.
 * @param text without a byte order mark.
 */
export function formatText(text: string, orderOf: OrderOf): FormatResult {
  const { documents, problems } = parseDocuments(text);
  if (problems.length > 0) return { problems };
  if (documents.length === 0) return { text };
  const eol = /\r?\n/.exec(text)?.[0] ?? '\n';
  const source = text.replaceAll('\r\n', '\n');
  const formatted = tryFormat(source, orderOf);
  const isSafe =
    formatted !== undefined && hasSameContent(source, formatted) && tryFormat(formatted, orderOf) === formatted;
  if (isSafe) return { text: formatted.replaceAll('\n', eol) };
  const message = 'not formatted: formatting this layout might change values';
  return { problems: [{ code: 'cannot-format', message, line: 1, column: 1 }] };
}

function tryFormat(source: string, orderOf: OrderOf): string | undefined {
  try {
    return isJson(source) ? formatJson(source, orderOf) : formatYaml(source, orderOf);
  } catch (error) {
    if (error instanceof UnsupportedLayout || error instanceof CannotEdit) return undefined;
    throw error;
  }
}

function formatJson(text: string, orderOf: OrderOf): string {
  const value = parseDocuments(text).documents[0]?.value ?? null;
  return `${JSON.stringify(withOrderedKeys(value, orderOf(value)), undefined, 2)}\n`;
}

function formatYaml(text: string, orderOf: OrderOf): string {
  const documents = slicesOf(text).map((slice) => formatDocument(slice, orderOf));
  const parts = documents.filter((lines) => lines.length > 0).map((lines) => `${lines.join('\n')}\n`);
  // Comments before the first value belong to its document, with or without a mark between them.
  return parts.reduce((before, part) => `${before}${/^\s*[^\s#]/m.test(before) ? '---\n' : ''}${part}`, '');
}

function formatDocument(slice: string, orderOf: OrderOf): string[] {
  const text = withoutMarks(slice);
  const document = parseDocument(text, { ...yamlOptions, keepSourceTokens: true });
  const { contents } = document;
  if (contents === null || contents.range[0] === contents.range[1]) {
    const lines = text
      .trim()
      .replaceAll(/\n\s*\n/g, '\n\n')
      .split('\n');
    if (lines.every((line) => /^\s*(?:#|$)/.test(line))) return lines[0] === '' ? [] : lines;
    throw new UnsupportedLayout();
  }
  const value = parseDocuments(text).documents[0]?.value ?? null;
  const source = new TextSource(text, { json: false });
  const whole = { source, from: 0, to: text.length };
  const ordered = layOutDocument(contents, { ...whole, order: orderOf(value) });
  // An alias must not come before its anchor.
  const again = parseDocuments(ordered.join('\n')).documents[0]?.value ?? null;
  return jsonEqual(again, value) ? ordered : layOutDocument(contents, { ...whole, order: undefined });
}

/** Removes the marks `---` and `...`. A comment after a mark is moved to its own line. */
function withoutMarks(slice: string): string {
  const lines = slice.split('\n');
  if (lines.some((line) => line.startsWith('%'))) throw new UnsupportedLayout();
  const emptied = new Set<number>();
  let inMark = true;
  for (const [index, line] of lines.entries()) {
    if (/^(?:---|\.\.\.)(?:\s|$)/.test(line) && (inMark || line.startsWith('...'))) {
      const rest = line.slice(3).trim();
      if (rest !== '' && !rest.startsWith('#')) throw new UnsupportedLayout();
      lines[index] = rest;
      if (line.startsWith('---')) inMark = false;
      if (rest === '') emptied.add(index);
    } else if (line.trim() !== '' && !line.trim().startsWith('#')) inMark = false;
  }
  return lines.filter((_, index) => !emptied.has(index)).join('\n');
}

function hasSameContent(before: string, after: string): boolean {
  const [old, now] = [parseDocuments(before), parseDocuments(after)];
  if (now.problems.length > 0 || old.documents.length !== now.documents.length) return false;
  const sameValues = old.documents.every(({ value }, index) => jsonEqual(value, now.documents[index]?.value));
  return sameValues && jsonEqual(commentsIn(before), commentsIn(after));
}

function commentsIn(text: string): string[] {
  return [...tokensOf(text)]
    .filter(({ type }) => type === 'comment')
    .map(({ source }) => source.trim())
    .sort();
}
