import { parse } from '@bufbuild/cel';
import type { RuleProblem } from '../rule.ts';

export type Expression = ReturnType<typeof parse>['expr'];
/** The fields of an expression of the given case. */
export type Parts<Case> = Extract<Expression['exprKind'], { readonly case: Case }>['value'];

export interface Syntax {
  readonly expression: Expression;
  /** Returns the offset of a part in the text. For `a.b` and `a.b()`, this is the offset of `b`; for an operation, that of the operator. */
  offsetOf(part: { readonly id: bigint }): number;
}

/** The maximum length of a condition. A longer condition is too hard to review. */
const MAX_LENGTH = 4000;
/** The maximum number of regular expressions. The check of a rule compiles all of them. */
const MAX_PATTERNS = 20;

/** Parses a CEL expression. Macros are expanded. */
export function readSyntax(text: string): Syntax | { readonly problem: RuleProblem } {
  const problem = (message: string, offset = 0) => ({ problem: { message, offset } });
  if (text.length > MAX_LENGTH) return problem(`the rule is longer than ${MAX_LENGTH} characters`);
  if ((text.match(/\bmatches\b/g)?.length ?? 0) > MAX_PATTERNS)
    return problem(`the rule has more than ${MAX_PATTERNS} regular expressions`);
  try {
    // The parser takes a comment only if a line end follows.
    const { expr, sourceInfo } = parse(`${text}\n`);
    const offsetOf: Syntax['offsetOf'] = ({ id }) => {
      const at = sourceInfo?.positions[String(id)] ?? 0;
      // The parser returns the position of the dot, or of the space before an operator.
      const [lead = ''] = /^\s*(\.(?!\d)\s*)?/.exec(text.slice(at)) ?? [];
      return at + lead.length;
    };
    return { expression: expr, offsetOf };
  } catch (error) {
    if (error instanceof RangeError) return problem('the rule is nested too deeply');
    const offset = offsetIn(error);
    const rest = text.slice(offset).trim();
    const near = rest === '' ? 'unexpected end' : `unexpected ${JSON.stringify(firstWord(rest))}`;
    return problem(`not a CEL expression: ${near}`, offset);
  }
}

/** Returns the offset of a parser error; 0 for any other error. */
function offsetIn(error: unknown): number {
  const { location } = error as { readonly location?: { readonly start?: { readonly offset?: unknown } } };
  const offset = location?.start?.offset;
  return typeof offset === 'number' ? offset : 0;
}

function firstWord(text: string): string {
  return /^(\w+|[^\w\s]+)/.exec(text)?.[0].slice(0, 40) ?? text.slice(0, 1);
}
