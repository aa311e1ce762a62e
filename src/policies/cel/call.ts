import { attempt } from '../../problems/attempt.ts';
import { didYouMean, nearestCandidate } from '../../problems/suggest.ts';
import { functions, methods, operators, shownOperator } from './functions.ts';
import { NoResult, type Overload, problemOf } from './overload.ts';
import {
  all,
  type CallSite,
  type Checker,
  dataPart,
  hiddenFailure,
  type MacroFrame,
  type RulePart,
  type Run,
} from './part.ts';
import type { Expression, Parts } from './syntax.ts';
import { compiled } from './text-functions.ts';
import { formatIn, timeMethods } from './time-functions.ts';
import { ANY, BOOL, type Type, typeName, unionOf } from './types.ts';
import {
  type CelValue,
  HiddenValue,
  isList,
  isMap,
  Meter,
  NoValue,
  Opaque,
  type ValueType,
  valueTypeOf,
} from './values.ts';

/** Methods of lists and objects that take a variable and an expression. */
export const MACROS = ['all', 'exists', 'exists_one', 'map', 'filter'];

/** Checks and compiles a call of a function or method, or the use of an operator or index. */
export function callOf(checker: Checker, call: Parts<'callExpr'>, site: CallSite): RulePart {
  const { function: name, target, args } = call;
  const { offset, bound } = site;
  const special = target === undefined && Object.hasOwn(lazyOperators, name) ? lazyOperators[name] : undefined;
  const readable = (arg: Expression) => checker.readable(arg, bound);
  if (special !== undefined) return special(checker, args.map(readable), offset);
  if (target === undefined && name === '_[_]') return indexOf(checker, args, site);
  if (target === undefined && name === 'has') {
    return checker.problem('has requires a field, such as has(spec.name)', offset);
  }
  if (target === undefined && name === 'isSecret') return secretTest(checker, args, site);
  if (target !== undefined && MACROS.includes(name)) {
    return checker.problem(`${name} requires a variable and an expression: list.${name}(x, …)`, offset);
  }
  const table = target !== undefined ? methods : Object.hasOwn(operators, name) ? operators : functions;
  if (!Object.hasOwn(table, name)) return unknownFunction(checker, name, { isMethod: target !== undefined, offset });
  const parts = [...(target === undefined ? [] : [target]), ...args].map(readable);
  return compileCall(checker, { name, overloads: table[name] ?? [], parts, at: offset });
}

function unknownFunction(
  checker: Checker,
  name: string,
  { isMethod, offset }: { isMethod: boolean; offset: number },
): RulePart {
  const known = Object.keys(isMethod ? methods : functions);
  const near = nearestCandidate(name, [...known, ...(isMethod ? MACROS : ['has', 'isSecret'])]);
  const other = isMethod ? functions : methods;
  const hint = Object.hasOwn(other, name)
    ? `; write ${isMethod ? `${name}(value)` : `value.${name}(…)`}`
    : near === undefined
      ? ''
      : didYouMean(name, [near]);
  return checker.problem(`unknown function ${JSON.stringify(name)}${hint}`, offset);
}

interface Application {
  readonly name: string;
  readonly overloads: readonly Overload[];
  readonly parts: readonly RulePart[];
  readonly at: number;
}

function compileCall(checker: Checker, { name, overloads, parts, at }: Application): RulePart {
  const types = parts.map(({ type }) => type);
  const possible = overloads.filter(({ takes }) => accepts(takes, types));
  const problem =
    possible.length === 0
      ? mismatchProblem(name, overloads, types)
      : (comparisonProblem(name, types) ?? literalProblem(name, parts));
  if (problem !== undefined) return checker.problem(problem, at);
  const isAppend = name === '_+_' && parts[0]?.label === ACCUMULATED && parts[1]?.type.is === 'list';
  const part: RulePart = {
    type: possible.map(({ resultType }) => resultType(types)).reduce(unionOf),
    offset: at,
    run: (run, frame) => {
      run.meter.take(1);
      const values = all(parts, run, frame);
      if (values instanceof NoValue) return values;
      return isAppend ? appendItems(values) : callOverload(values, { name, overloads, at, meter: run.meter });
    },
  };
  return parts.every(({ constant }) => constant !== undefined) ? foldConstant(checker, part) : part;
}

/** The parser's name for the list that a macro builds. Nothing else refers to this list, so items are added in place. */
const ACCUMULATED = '@result';

function appendItems([list, items]: readonly CelValue[]): CelValue {
  (list as CelValue[]).push(...(items as readonly CelValue[]));
  return list as CelValue;
}

type OverloadCall = Omit<Application, 'parts'> & { readonly meter: Meter };

function callOverload(values: readonly CelValue[], { name, overloads, at, meter }: OverloadCall): CelValue | NoValue {
  const types = values.map(valueTypeOf);
  const chosen = overloads.find(
    ({ takes }) =>
      takes.length === types.length && takes.every((type, index) => type === 'any' || type === types[index]),
  );
  if (chosen === undefined) {
    const words = types.map((type) => typeName({ is: type === 'opaque' ? 'secret' : type } as Type));
    return new NoValue(`${shownOperator(name)} does not accept ${words.join(' and ')}`, { offset: at });
  }
  try {
    return chosen.run(values, meter);
  } catch (error) {
    if (error instanceof HiddenValue) return hiddenFailure(error.hidden, { offset: at });
    if (error instanceof NoResult) return new NoValue(error.message, { offset: at });
    throw error;
  }
}

/** Evaluates a constant part once, during the check. Adds a problem if the part has no result. */
function foldConstant(checker: Checker, part: RulePart): RulePart {
  const run: Run = { variables: {}, meter: new Meter(MAX_CONSTANT_STEPS), last: undefined };
  const constant = attempt(() => part.run(run, undefined));
  if (constant === undefined) return part;
  if (constant instanceof NoValue) return checker.problem(constant.message, constant.offset);
  return { ...part, constant, run: () => constant };
}

/** The maximum number of steps to evaluate a constant part. */
const MAX_CONSTANT_STEPS = 10_000;

function accepts(takes: Overload['takes'], types: readonly Type[]): boolean {
  return takes.length === types.length && takes.every((type, index) => fits(type, types[index] ?? ANY));
}

function fits(type: ValueType | 'any', { is }: Type): boolean {
  if (type === 'any' || is === 'any' || is === 'nothing') return true;
  return type === (is === 'object' ? 'map' : is);
}

function mismatchProblem(name: string, overloads: readonly Overload[], types: readonly Type[]): string {
  const shown = shownOperator(name);
  const counts = [...new Set(overloads.map(({ takes }) => takes.length))];
  if (!counts.includes(types.length)) return `wrong number of arguments for ${shown}`;
  const isMixed = types.some(({ is }) => is === 'int') && types.some(({ is }) => is === 'double');
  const hint = isMixed ? '; write whole numbers as 2.0, or use double(…)' : '';
  return `${shown} does not accept ${types.map(typeName).join(' and ')}${hint}`;
}

/** Returns a problem if a comparison has the same result for every resource. */
function comparisonProblem(name: string, [a = ANY, b = ANY]: readonly Type[]): string | undefined {
  if (name !== '_==_' && name !== '_!=_') return undefined;
  const groups = [a, b].map(({ is }) => GROUPS[is] ?? is);
  if (!groups.includes('open') && groups[0] !== groups[1]) return `${typeName(a)} never equals ${typeName(b)}`;
  if (a.is !== 'string' || b.is !== 'string' || !a.values || !b.values) return undefined;
  const [known, [text = '']] = a.values.length > b.values.length ? [a.values, b.values] : [b.values, a.values];
  if (a.values.some((value) => b.values?.includes(value))) return undefined;
  const near = didYouMean(text, known) || `; values: ${known.join(', ')}`;
  return `the value is never ${JSON.stringify(text)}${near}`;
}

/** Groups of types. Values can be equal only if their types are in the same group, or if one is in the group `open`. */
const GROUPS: Partial<Record<Type['is'], string>> = {
  any: 'open',
  nothing: 'open',
  null: 'open',
  int: 'number',
  double: 'number',
  map: 'object',
};

function literalProblem(name: string, parts: readonly RulePart[]): string | undefined {
  const text = parts[1]?.constant;
  if (typeof text !== 'string') return undefined;
  if (name === 'matches') return problemOf(() => compiled(text));
  return Object.hasOwn(timeMethods, name) ? problemOf(() => formatIn(text)) : undefined;
}

/** Checks and compiles `list[0]` and `object["field"]`. */
function indexOf(checker: Checker, args: readonly Expression[], { offset, bound }: CallSite): RulePart {
  const operand = checker.readable(args[0], bound);
  const index = checker.readable(args[1], bound);
  if (typeof index.constant === 'string') return checker.field(operand, index.constant, index.offset);
  const label = operand.label && `${operand.label}[${index.constant ?? '…'}]`;
  const { is } = operand.type;
  const isKeyed = is === 'map' || is === 'object';
  if (!isKeyed && !fits('list', operand.type)) {
    return checker.problem(`${operand.label ?? 'the value'} is ${typeName(operand.type)} and has no items`, offset);
  }
  if (!fits(isKeyed ? 'string' : 'int', index.type) && is !== 'any') {
    return checker.problem(`the index must be ${isKeyed ? 'a string' : 'an int'}`, index.offset);
  }
  const { path } = operand;
  return dataPart({
    type: is === 'list' || is === 'map' ? operand.type.of : ANY,
    offset,
    label,
    fetch: (run, frame) => itemAt(operand.run(run, frame), index.run(run, frame), { offset, label }),
    ...(path !== undefined && {
      path: (run, frame) => {
        const at = index.run(run, frame);
        return [...(path(run, frame) ?? []), typeof at === 'bigint' ? Number(at) : String(at)];
      },
    }),
  });
}

function itemAt(
  operand: CelValue | NoValue,
  index: CelValue | NoValue,
  { offset, label = 'the item' }: Pick<RulePart, 'offset' | 'label'>,
): CelValue | NoValue {
  if (operand instanceof NoValue) return operand;
  if (index instanceof NoValue) return index;
  const missing = new NoValue(`${label} is not set`, { offset, isMissing: true });
  if (isList(operand) && typeof index === 'bigint') {
    // A list item may be null. Only undefined means that the index is out of range.
    const item = operand[Number(index)];
    return item === undefined ? missing : item;
  }
  if (isMap(operand) && typeof index === 'string')
    return Object.hasOwn(operand, index) ? (operand[index] as CelValue) : missing;
  return new NoValue(`${label} cannot be read with this index`, { offset });
}

/** Checks and compiles `isSecret(spec.url)`. */
function secretTest(checker: Checker, args: readonly Expression[], { offset, bound }: CallSite): RulePart {
  const [part] = args.map((arg) => checker.part(arg, bound));
  const fetch = part?.fetch;
  if (part === undefined || fetch === undefined || args.length !== 1) {
    return checker.problem('isSecret requires a field, such as isSecret(spec.url)', offset);
  }
  return {
    type: BOOL,
    offset,
    run: (run, frame) => {
      run.meter.take(1);
      if (part.path !== undefined) run.last = { part, frame };
      const value = fetch(run, frame);
      return value instanceof NoValue ? value : value instanceof Opaque && value.reason === 'secret';
    },
  };
}

type LazyOperator = (checker: Checker, parts: readonly RulePart[], offset: number) => RulePart;

/** Operators that may skip an operand, or that may have a result although an operand has none. */
const lazyOperators: Readonly<Record<string, LazyOperator | undefined>> = {
  '_&&_': logicOperator({ decides: false, shown: '&&' }),
  '_||_': logicOperator({ decides: true, shown: '||' }),
  '_?_:_': compileConditional,
  '@not_strictly_false': (_, [part], offset) => ({
    type: BOOL,
    offset,
    run: (run, frame) => part?.run(run, frame) !== false,
  }),
};

/** Compiles `&&` or `||`. One operand can decide the result, even if the other operand has no value. */
function logicOperator({ decides, shown }: { readonly decides: boolean; readonly shown: string }): LazyOperator {
  return (checker, parts, offset) => {
    for (const part of parts) expectBool(checker, part, shown);
    return {
      type: BOOL,
      offset,
      run: (run, frame) => {
        run.meter.take(1);
        let failure: NoValue | undefined;
        for (const part of parts) {
          const value = booleanOf(part, run, frame);
          if (value === decides) return decides;
          if (value instanceof NoValue) failure ??= value;
        }
        return failure ?? !decides;
      },
    };
  };
}

function compileConditional(checker: Checker, [when, then, other]: readonly RulePart[], offset: number): RulePart {
  if (when === undefined || then === undefined || other === undefined) {
    return checker.problem('? requires a condition and two values', offset);
  }
  expectBool(checker, when, '?');
  return {
    type: unionOf(then.type, other.type),
    offset,
    run: (run, frame) => {
      run.meter.take(1);
      const value = booleanOf(when, run, frame);
      if (value instanceof NoValue) return value;
      return (value ? then : other).run(run, frame);
    },
  };
}

function expectBool(checker: Checker, { type, label, offset }: RulePart, shown: string): void {
  if (isBool(type)) return;
  checker.problem(`${shown} requires true or false, but ${label ?? 'the value'} is ${typeName(type)}`, offset);
}

export function isBool({ is }: Type): boolean {
  return is === 'bool' || is === 'any' || is === 'nothing';
}

/** Returns true, false, or the reason why there is no result. */
export function booleanOf(part: RulePart, run: Run, frame: MacroFrame | undefined): boolean | NoValue {
  const value: CelValue | NoValue = part.run(run, frame);
  if (typeof value === 'boolean' || value instanceof NoValue) return value;
  return new NoValue(`${part.label ?? 'the value'} is neither true nor false`, { offset: part.offset });
}
