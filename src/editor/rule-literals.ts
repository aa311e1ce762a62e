import { type Expression, readSyntax } from '../policies/cel/syntax.ts';

/** A text in quotes in the condition of a rule. */
interface RuleLiteral {
  readonly value: string;
  /** Where the value itself begins in the condition; undefined where it is written with escapes. */
  readonly offset: number | undefined;
  /** What it is compared with, as far as that makes it a name. */
  readonly comparedWith: 'address' | 'name' | undefined;
}

/** Every text literal of a condition; none of one that cannot be read. */
export function literalsIn(condition: string): readonly RuleLiteral[] {
  const syntax = readSyntax(condition);
  if ('problem' in syntax) return [];
  const found: RuleLiteral[] = [];
  const visit = (value: unknown, comparedWith: RuleLiteral['comparedWith']): void => {
    if (Array.isArray(value)) for (const each of value) visit(each, comparedWith);
    else if (isExpression(value)) {
      const { exprKind } = value;
      if (exprKind.case === 'constExpr') {
        const { constantKind } = exprKind.value;
        if (constantKind.case !== 'stringValue') return;
        const text = constantKind.value;
        const offset = contentOf(condition, syntax.offsetOf(value), text);
        found.push({ value: text, offset, comparedWith });
      } else if (exprKind.case === 'listExpr') visit(exprKind.value.elements, comparedWith);
      else if (exprKind.case === 'callExpr') {
        const { function: name, args, target } = exprKind.value;
        const compared = COMPARISONS.has(name)
          ? args.map(subjectOf).find((each) => each !== undefined)
          : undefined;
        visit(args, compared);
        visit(target, undefined);
      } else visit(partsOf(exprKind.value), undefined);
    }
  };
  visit(syntax.expression, undefined);
  return found;
}

const COMPARISONS: ReadonlySet<string> = new Set(['_==_', '_!=_', '@in']);

function isExpression(value: unknown): value is Expression {
  return typeof value === 'object' && value !== null && 'exprKind' in value;
}

/** The expressions right inside a part of another form: of a macro, a map, a field. */
function partsOf(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap((each: unknown) => {
    if (isExpression(each)) return [each];
    if (Array.isArray(each))
      return each.flatMap((item: unknown) => (isExpression(item) ? [item] : partsOf(item)));
    return typeof each === 'object' && each !== null && 'case' in each ? partsOf(each) : [];
  });
}

/** `name`, `resource.name` and `resource.address`. */
function subjectOf({ exprKind }: Expression): RuleLiteral['comparedWith'] {
  if (exprKind.case === 'identExpr') return exprKind.value.name === 'name' ? 'name' : undefined;
  if (exprKind.case !== 'selectExpr' || exprKind.value.testOnly) return undefined;
  const { operand, field } = exprKind.value;
  const isResource = operand?.exprKind.case === 'identExpr' && operand.exprKind.value.name === 'resource';
  return isResource && (field === 'address' || field === 'name') ? field : undefined;
}

/** Behind the quote, where the text is written as it is. */
function contentOf(condition: string, offset: number, text: string): number | undefined {
  const [quote] = /^[rR]?(?:"""|'''|"|')/.exec(condition.slice(offset)) ?? [];
  if (quote === undefined) return undefined;
  const at = offset + quote.length;
  return condition.startsWith(text, at) ? at : undefined;
}
