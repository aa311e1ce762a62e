import { isScalar, Scalar } from 'yaml';

/** The length of an escape in a double-quoted scalar, with its backslash; two by default. */
const ESCAPES: Readonly<Record<string, number>> = { x: 4, u: 6, U: 10 };

/**
 * The offset in a file for a character of a scalar's value. Walks both side by side and skips indentation and folded line breaks.
 * Undefined if the node is not text.
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
    const wanted = value.charAt(index);
    const here = text.charAt(at);
    const broken = lineBreak(at);
    if (/\s/.test(here) && !/\s/.test(wanted)) at += 1;
    else if (broken > 0) {
      // All line breaks: one of them may be folded.
      while (lineBreak(at) > 0) at = lineBegin(at + lineBreak(at));
      index += wanted === '\n' ? (/^\n+/.exec(value.slice(index))?.[0].length ?? 1) : 1;
    } else if (type === Scalar.QUOTE_DOUBLE && here === '\\') {
      const joined = lineBreak(at + 1);
      at = joined > 0 ? lineBegin(at + 1 + joined) : at + (ESCAPES[text.charAt(at + 1)] ?? 2);
      if (joined === 0) index += 1;
    } else {
      at += type === Scalar.QUOTE_SINGLE && here === "'" ? 2 : 1;
      index += 1;
    }
  }
  return Math.min(at, end);
}

/** The indentation of the first line that is not blank. */
function indentation(block: string): number {
  return /^(?:[ \t]*\r?\n)*( *)/.exec(block)?.[1]?.length ?? 0;
}
