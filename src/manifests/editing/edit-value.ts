import { isMap, isScalar, isSeq, type Node, type Scalar } from 'yaml';
import { isObject, type Json } from '../../values/json.ts';
import { CannotEdit, type Splice } from './change.ts';
import {
  blockItem,
  blockText,
  blockValue,
  flowValue,
  type NewText,
  type ScalarValue,
  scalarText,
} from './new-value.ts';
import { isBlockScalar, type NodePlace, rangeOf, type TextSource } from './node-place.ts';

/**
 * Replaces a node with a value, in the node's style if possible.
 * @throws CannotEdit
 */
export function replaceNode(node: Node, value: Json, place: NodePlace): Splice[] {
  const { source, flow } = place;
  const [start, end] = valueRange(node, place);
  if (!flow && isCollection(node) && node.flow !== true) return replaceBlock(node, value, place);
  if (flow || (isCollection(node) && !isMultilineText(value))) {
    const { json } = source;
    const text = isScalarValue(value)
      ? scalarText(value, { flow, json, style: styleOf(node) })
      : flowValue(value, { json });
    return [inline(source, { start, end, text })];
  }
  if (isBlockScalar(node)) return replaceBlockScalar(node, value, place);
  const { head, lines } = newText(node, value, place);
  const splice = inline(source, { start, end, text: head });
  if (lines.length === 0) return [splice];
  if (!source.endsLine(end)) throw new CannotEdit('more text follows on the same line');
  return [splice, source.linesAfter(end, lines)];
}

/** Formats a value outside brackets: as a block, or on the line of its key or dash in the style of the node. */
function newText(node: Node, value: Json, { column, source }: NodePlace): NewText {
  const style = styleOf(node);
  const wasOneLine = !isScalar(node) || typeof node.value !== 'string' || !node.value.includes('\n');
  const becomesBlock = isMultilineText(value) && (style !== 'QUOTE_DOUBLE' || wasOneLine) && !source.compact;
  if (!isScalarValue(value) || becomesBlock) return blockValue(value, Math.max(column, 0), source);
  return { head: scalarText(value, { flow: false, json: false, style }), lines: [] };
}

function styleOf(node: Node): string | undefined {
  return isScalar(node) ? (node.type ?? undefined) : undefined;
}

/** Keeps the block style, literal or folded, if it can represent the value. */
function replaceBlockScalar(node: Scalar, value: Json, place: NodePlace): Splice[] {
  const { source } = place;
  const [start, end] = rangeOf(node);
  const header = /^[|>][-+0-9]*/.exec(source.text.slice(start))?.[0] ?? '|';
  const content = Math.min(end, source.nextLine(start));
  const column = Math.max(place.column, 0);
  const explicitIndent = /\d/.exec(header)?.[0];
  const old = source.text.slice(content, end).split(/\r?\n/);
  const found = /^ */.exec(old.find((line) => line.trim() !== '') ?? '')?.[0].length ?? 0;
  const indent = explicitIndent === undefined ? found || column + source.step : column + Number(explicitIndent);
  const layout = {
    column,
    indent,
    hasExplicitIndent: explicitIndent !== undefined,
    blankAfter: header.includes('+') ? 0 : blankLines(source, end),
    previous: old.map((line) => line.slice(indent)),
  };
  const isText = typeof value === 'string' && !source.compact;
  const block = isText ? blockText(value, { ...layout, folded: header.startsWith('>') }) : undefined;
  const { head, lines } = block ?? newText(node, value, place);
  // New lines use the line endings of the replaced ones.
  const { text, eol } = source;
  const opened = content > 0 && text[content - 1] !== '\n' ? eol : '';
  const wasEnded = content === end ? content < text.length : text[end - 1] === '\n';
  const body = `${opened}${lines.join(eol)}${wasEnded || lines.at(-1) === '' ? eol : ''}`;
  return [
    { start, end: start + header.length, text: head },
    { start: content, end, text: lines.length === 0 ? '' : body },
  ];
}

function blankLines(source: TextSource, offset: number): number {
  let count = 0;
  for (let at = offset; at < source.text.length; at = source.nextLine(at)) {
    if (source.text.slice(at, source.lineEnd(at)).trim() !== '') break;
    count++;
  }
  return count;
}

/** Replaces all lines of an object or list in block style. */
function replaceBlock(node: Node, value: Json, place: NodePlace): Splice[] {
  const { source } = place;
  const { text } = source;
  const [start, end] = rangeOf(node);
  if (hasProps(node)) throw new CannotEdit('the value has an anchor or a tag');
  const last = start + text.slice(start, end).trimEnd().length;
  const column = Math.max(place.column, 0);
  if (!source.beginsLine(start) || place.lead === 0 || !source.endsLine(place.lead)) {
    const text = place.isItem
      ? blockItem(value, column, source)
          .join(source.eol)
          .slice(column + 2)
      : flowValue(value, { json: false });
    return [{ start, end: last, text }];
  }
  const from = source.lineEnd(source.lineStart(start) - 1);
  const { head, lines } = blockValue(value, column, source);
  const behindLead = head === '' ? [] : [{ start: place.lead, end: place.lead, text: ` ${head}` }];
  const below = lines.map((line) => source.eol + line).join('');
  return [...behindLead, { start: from, end: last, text: below }];
}

/** Returns the range of a value. The range of an empty value is right after the colon or dash, before a comment. */
function valueRange(node: Node, { lead, source }: NodePlace): readonly [number, number] {
  const [start, end] = rangeOf(node);
  if (start !== end || lead === 0 || lead > start) return [start, end];
  return /^\s*(?:#.*\s*)*$/.test(source.text.slice(lead, start)) ? [lead, lead] : [start, end];
}

function hasProps(node: Node): boolean {
  return ('anchor' in node && node.anchor !== undefined) || node.tag !== undefined;
}

/** Adds a space before a value right after a colon or dash. Removes trailing spaces if the value is empty. */
function inline({ text }: TextSource, { start, end, text: value }: Splice): Splice {
  if (value === '') {
    let from = start;
    while (/[ \t]/.test(text[from - 1] ?? '')) from--;
    return { start: from, end, text: '' };
  }
  return { start, end, text: /[:\-,]/.test(text[start - 1] ?? '') ? ` ${value}` : value };
}

function isCollection(node: Node): node is Node & { flow?: boolean } {
  return isMap(node) || isSeq(node);
}

function isScalarValue(value: Json): value is ScalarValue {
  return !Array.isArray(value) && !isObject(value);
}

function isMultilineText(value: Json): boolean {
  return typeof value === 'string' && value.includes('\n');
}
