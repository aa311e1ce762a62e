import { isAlias, isMap, isScalar, type Scalar } from 'yaml';
import type { ReadDocument } from '../manifests/editing/edit-text.ts';
import type { DocumentPath } from '../manifests/finding.ts';
import { scalarOffset } from '../manifests/positions.ts';
import { isGlob, parseAddress } from '../manifests/resource.ts';
import { type Expression, readSyntax } from '../policies/cel/syntax.ts';
import { isObject } from '../values/json.ts';
import { documentsIn, type PlacedNode, placedNodes, rangeIn, readableValue } from './document-at.ts';
import type { FileRole, TextRange } from './snapshot.ts';

/** A place in a text that names a resource, by its address or by its name alone. */
export interface PlacedAddress {
  readonly type: 'declaration' | 'reference' | 'patch' | 'skip' | 'previous-name' | 'rule';
  /** Undefined for a name in a rule that applies to all kinds. */
  readonly kind: string | undefined;
  readonly name: string;
  /** The range of the address, or of the name if the text has only a name. It does not include quotes. */
  readonly range: TextRange;
  /** The range of the name; undefined if the name contains escapes or is an alias. */
  readonly nameRange: TextRange | undefined;
  /** True if the address is in a YAML alias. The text of the name is then at the anchor. */
  readonly isShared: boolean;
  /** For a literal in a rule: the name of the rule, and whether the rule compares the literal with a name or an address. */
  readonly rule?: { readonly name: string; readonly isCompared: boolean };
}

/** Returns all addresses in a text, in order. The text may be invalid. */
export function addressPlaces(text: string, role: FileRole): readonly PlacedAddress[] {
  return documentsIn(text).flatMap((document) => {
    const value = readableValue(document);
    return [...placedNodes(document.contents)].flatMap((placed) => placesOf(placed, { text, role, value, document }));
  });
}

interface PlaceContext extends ReadDocument {
  readonly role: FileRole;
}

function placesOf(placed: PlacedNode, context: PlaceContext): readonly PlacedAddress[] {
  const { node, path, at } = placed;
  const { text, role, value, document } = context;
  if (path.includes('$literal')) return [];
  const [first, second, third] = path;
  const last = path.at(-1);
  const resolved = isAlias(node) ? node.resolve(document) : node;
  const isShared = node !== resolved;
  if (isMap(resolved)) {
    // placedNodes does not enter the value of an alias, so a reference in that value is found only here.
    const target: unknown = resolved.get('$ref');
    const parsed = typeof target === 'string' ? parseAddress(target) : undefined;
    const range = rangeIn(node);
    return parsed === undefined ? [] : [{ type: 'reference', ...parsed, range, nameRange: undefined, isShared }];
  }
  if (!isScalar(resolved) || typeof resolved.value !== 'string') return [];
  const word = resolved.value;
  const rangeOf = (part: string): TextRange | undefined =>
    isShared ? undefined : partRange(resolved, text, { part, offset: word.length - part.length });
  const range = rangeOf(word) ?? rangeIn(node);
  const named = (type: PlacedAddress['type'], kind: string): PlacedAddress[] => [
    { type, kind, name: word, range, nameRange: rangeOf(word), isShared },
  ];
  const asAddress = (type: PlacedAddress['type']): PlacedAddress[] => {
    const parsed = parseAddress(word);
    return parsed === undefined ? [] : [{ type, ...parsed, range, nameRange: rangeOf(parsed.name), isShared }];
  };

  if (at === 'key') return role === 'project' && path.length === 3 && isKeyedByAddress(path) ? asAddress('patch') : [];
  if (last === '$ref') return asAddress('reference');
  if (role === 'manifest' && first === 'metadata' && isObject(value) && typeof value.kind === 'string') {
    if (second === 'name' && path.length === 2) return named('declaration', value.kind);
    return second === 'previous_names' && path.length === 3 ? named('previous-name', value.kind) : [];
  }
  if (role === 'project' && first === 'workspaces' && third === 'skip' && path.length === 4)
    return isGlob(word) ? [] : asAddress('skip');
  const isRule = role !== 'manifest' && first === 'policies' && path.length === 3;
  return isRule && (last === 'deny' || last === 'warn') && node === resolved
    ? placesInRule(resolved, path, context)
    : [];
}

/** Returns true if the keys at this path of the project file are addresses. */
export function isKeyedByAddress([first, , third]: DocumentPath): boolean {
  return first === 'workspaces' && (third === 'patches' || third === 'ids');
}

/** Returns the range of a part of a scalar's value; undefined if the text does not contain it literally. */
function partRange(
  node: Scalar,
  text: string,
  { part, offset }: { readonly part: string; readonly offset: number },
): TextRange | undefined {
  const start = scalarOffset(node, text, offset);
  return start !== undefined && text.startsWith(part, start) ? { start, end: start + part.length } : undefined;
}

/** Returns the string literals in the condition of a rule as possible names or addresses. */
function placesInRule(node: Scalar, path: DocumentPath, { text, value }: PlaceContext): PlacedAddress[] {
  const rules = isObject(value) && Array.isArray(value.policies) ? value.policies : [];
  const rule: unknown = rules[Number(path[1])];
  const { kind, name: ruleName } = isObject(rule) ? rule : {};
  return literalsIn(String(node.value)).map(({ value: word, offset, comparedWith }): PlacedAddress => {
    const rangeOf = (part: string): TextRange | undefined =>
      offset === undefined ? undefined : partRange(node, text, { part, offset: offset + word.length - part.length });
    const address = parseAddress(word);
    const { name = word, kind: literalKind } = address ?? { kind: typeof kind === 'string' ? kind : undefined };
    const isCompared = comparedWith !== undefined || address !== undefined;
    return {
      type: 'rule',
      kind: literalKind,
      name,
      range: rangeOf(word) ?? rangeIn(node),
      nameRange: rangeOf(name),
      isShared: false,
      rule: { name: String(ruleName), isCompared },
    };
  });
}

/** A string literal in the condition of a rule. */
interface RuleLiteral {
  readonly value: string;
  /** The offset of the value in the condition; undefined if the literal contains escapes. */
  readonly offset: number | undefined;
  /** Set if the literal is compared with the name or the address of a resource. */
  readonly comparedWith: 'address' | 'name' | undefined;
}

/** Returns all string literals of a condition; none if the condition is invalid. */
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
        const offset = contentOffset(condition, syntax.offsetOf(value), text);
        found.push({ value: text, offset, comparedWith });
      } else if (exprKind.case === 'listExpr') visit(exprKind.value.elements, comparedWith);
      else if (exprKind.case === 'callExpr') {
        const { function: name, args, target } = exprKind.value;
        const compared = COMPARISONS.has(name) ? args.map(subjectOf).find((each) => each !== undefined) : undefined;
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

/** Returns the direct subexpressions of a macro, a map or a field selection. */
function partsOf(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap((each: unknown) => {
    if (isExpression(each)) return [each];
    if (Array.isArray(each)) return each.flatMap((item: unknown) => (isExpression(item) ? [item] : partsOf(item)));
    return typeof each === 'object' && each !== null && 'case' in each ? partsOf(each) : [];
  });
}

/** Recognizes `name`, `resource.name` and `resource.address`. */
function subjectOf({ exprKind }: Expression): RuleLiteral['comparedWith'] {
  if (exprKind.case === 'identExpr') return exprKind.value.name === 'name' ? 'name' : undefined;
  if (exprKind.case !== 'selectExpr' || exprKind.value.testOnly) return undefined;
  const { operand, field } = exprKind.value;
  const isResource = operand?.exprKind.case === 'identExpr' && operand.exprKind.value.name === 'resource';
  return isResource && (field === 'address' || field === 'name') ? field : undefined;
}

/** Returns the offset after the opening quote; undefined if the literal contains escapes. */
function contentOffset(condition: string, offset: number, text: string): number | undefined {
  const [quote] = /^[rR]?(?:"""|'''|"|')/.exec(condition.slice(offset)) ?? [];
  if (quote === undefined) return undefined;
  const at = offset + quote.length;
  return condition.startsWith(text, at) ? at : undefined;
}
