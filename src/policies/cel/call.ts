import { attempt } from '../../problems/attempt.ts';
import { didYouMean, nearest } from '../../problems/suggest.ts';
import { functions, methods } from './functions.ts';
import { logic } from './logic.ts';
import { operators, shownOperator } from './operators.ts';
import { NoResult, type Overload, problemOf } from './overload.ts';
import { all, type CallSite, type Checker, hiddenFailure, type RulePart, type Run, reading } from './part.ts';
import type { Expression } from './syntax.ts';
import { compiled } from './text-functions.ts';
import { formatIn, timeMethods } from './time-functions.ts';
import { ANY, BOOL, joined, type Type, wordFor } from './types.ts';
import { type CelSort, type CelValue, HiddenValue, isList, isMap, Meter, NoValue, Opaque, sortOf } from './values.ts';

interface CalledFunction {
  readonly function: string;
  readonly target?: Expression | undefined;
  readonly args: readonly Expression[];
}

/** Methods of lists and objects with a variable and an expression. */
export const MACROS = ['all', 'exists', 'exists_one', 'map', 'filter'];

/** A function, method, operator or index. */
export function callOf(checker: Checker, call: CalledFunction, site: CallSite): RulePart {
  const { function: name, target, args } = call;
  const { offset, bound } = site;
  const special = target === undefined && Object.hasOwn(logic, name) ? logic[name] : undefined;
  if (special !== undefined) {
    return special(
      checker,
      args.map((arg) => checker.readable(arg, bound)),
      offset,
    );
  }
  if (target === undefined && name === '_[_]') return indexOf(checker, args, site);
  if (target === undefined && name === 'has') {
    return checker.problem('has requires a field, such as has(spec.name)', offset);
  }
  if (target === undefined && name === 'isSecret') return secrecy(checker, args, site);
  if (target !== undefined && MACROS.includes(name)) {
    return checker.problem(`${name} requires a variable and an expression: list.${name}(x, …)`, offset);
  }
  const table = target !== undefined ? methods : Object.hasOwn(operators, name) ? operators : functions;
  if (!Object.hasOwn(table, name)) return unknown(checker, name, { isMethod: target !== undefined, offset });
  const parts = [...(target === undefined ? [] : [target]), ...args].map((arg) => checker.readable(arg, bound));
  return applied(checker, { name, overloads: table[name] ?? [], parts, at: offset });
}

function unknown(
  checker: Checker,
  name: string,
  { isMethod, offset }: { isMethod: boolean; offset: number },
): RulePart {
  const known = Object.keys(isMethod ? methods : functions);
  const near = nearest(name, [...known, ...(isMethod ? MACROS : ['has', 'isSecret'])]);
  const other = isMethod ? functions : methods;
  const hint = Object.hasOwn(other, name)
    ? `; it is written ${isMethod ? `${name}(value)` : `value.${name}(…)`}`
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

function applied(checker: Checker, { name, overloads, parts, at }: Application): RulePart {
  const types = parts.map(({ type }) => type);
  const possible = overloads.filter(({ takes }) => accepts(takes, types));
  const problem =
    possible.length === 0 ? mismatch(name, overloads, types) : (neverEqual(name, types) ?? wrongText(name, parts));
  if (problem !== undefined) return checker.problem(problem, at);
  const grows = name === '_+_' && parts[0]?.label === ACCUMULATED && parts[1]?.type.is === 'list';
  const part: RulePart = {
    type: possible.map(({ resultType: gives }) => gives(types)).reduce(joined),
    offset: at,
    run: (run, frame) => {
      run.meter.take(1);
      const values = all(parts, run, frame);
      if (values instanceof NoValue) return values;
      return grows ? extended(values) : resultOf(values, { name, overloads, at, meter: run.meter });
    },
  };
  return parts.every(({ constant }) => constant !== undefined) ? folded(checker, part) : part;
}

/** The parser's name of the list that a macro builds. Nothing else refers to this list, so items are added in place. */
const ACCUMULATED = '@result';

function extended([list, items]: readonly CelValue[]): CelValue {
  (list as CelValue[]).push(...(items as readonly CelValue[]));
  return list as CelValue;
}

interface Calling extends Omit<Application, 'parts'> {
  readonly meter: Meter;
}

function resultOf(values: readonly CelValue[], { name, overloads, at, meter }: Calling): CelValue | NoValue {
  const sorts = values.map(sortOf);
  const chosen = overloads.find(
    ({ takes }) =>
      takes.length === sorts.length && takes.every((sort, index) => sort === 'any' || sort === sorts[index]),
  );
  if (chosen === undefined) {
    const words = sorts.map((sort) => wordFor({ is: sort === 'opaque' ? 'secret' : sort } as Type));
    return new NoValue(`${shownOperator(name)} cannot take ${words.join(' and ')}`, { offset: at });
  }
  try {
    return chosen.run(values, meter);
  } catch (error) {
    if (error instanceof HiddenValue) return hiddenFailure(error.hidden, { offset: at });
    if (error instanceof NoResult) return new NoValue(error.message, { offset: at });
    throw error;
  }
}

/** A constant is computed once. If it has no result, the rule has a problem. */
function folded(checker: Checker, part: RulePart): RulePart {
  const run: Run = { variables: {}, meter: new Meter(MAX_FOLDED), last: undefined };
  const constant = attempt(() => part.run(run, undefined));
  if (constant === undefined) return part;
  if (constant instanceof NoValue) return checker.problem(constant.message, constant.offset);
  return { ...part, constant, run: () => constant };
}

const MAX_FOLDED = 10_000;

function accepts(takes: Overload['takes'], types: readonly Type[]): boolean {
  return takes.length === types.length && takes.every((sort, index) => fits(sort, types[index] ?? ANY));
}

function fits(sort: CelSort | 'any', { is }: Type): boolean {
  if (sort === 'any' || is === 'any' || is === 'nothing') return true;
  return sort === (is === 'object' ? 'map' : is);
}

function mismatch(name: string, overloads: readonly Overload[], types: readonly Type[]): string {
  const shown = shownOperator(name);
  const counts = [...new Set(overloads.map(({ takes }) => takes.length))];
  if (!counts.includes(types.length)) return `${shown} takes a different number of arguments`;
  const isMixed = types.some(({ is }) => is === 'int') && types.some(({ is }) => is === 'double');
  const hint = isMixed ? '; write whole numbers as 2.0, or use double(…)' : '';
  return `${shown} cannot take ${types.map(wordFor).join(' and ')}${hint}`;
}

/** Why a comparison has the same result for every resource. */
function neverEqual(name: string, [a = ANY, b = ANY]: readonly Type[]): string | undefined {
  if (name !== '_==_' && name !== '_!=_') return undefined;
  const groups = [a, b].map(({ is }) => GROUPS[is] ?? is);
  if (!groups.includes('open') && groups[0] !== groups[1]) return `${wordFor(a)} never equals ${wordFor(b)}`;
  if (a.is !== 'string' || b.is !== 'string' || !a.values || !b.values) return undefined;
  const [known, [text = '']] = a.values.length > b.values.length ? [a.values, b.values] : [b.values, a.values];
  if (a.values.some((value) => b.values?.includes(value))) return undefined;
  const near = didYouMean(text, known) || `; values: ${known.join(', ')}`;
  return `this is never ${JSON.stringify(text)}${near}`;
}

/** Types whose values may be equal. */
const GROUPS: Partial<Record<Type['is'], string>> = {
  any: 'open',
  nothing: 'open',
  null: 'open',
  int: 'number',
  double: 'number',
  map: 'object',
};

function wrongText(name: string, parts: readonly RulePart[]): string | undefined {
  const text = parts[1]?.constant;
  if (typeof text !== 'string') return undefined;
  if (name === 'matches') return problemOf(() => compiled(text));
  return Object.hasOwn(timeMethods, name) ? problemOf(() => formatIn(text)) : undefined;
}

/** `list[0]`, and `object["field"]`. */
function indexOf(checker: Checker, args: readonly Expression[], { offset, bound }: CallSite): RulePart {
  const held = checker.readable(args[0], bound);
  const index = checker.readable(args[1], bound);
  if (typeof index.constant === 'string') return checker.field(held, index.constant, index.offset);
  const label = held.label && `${held.label}[${index.constant ?? '…'}]`;
  const { is } = held.type;
  const isKeyed = is === 'map' || is === 'object';
  if (!isKeyed && !fits('list', held.type)) {
    return checker.problem(`${held.label ?? 'this'} is ${wordFor(held.type)} and has no items`, offset);
  }
  if (!fits(isKeyed ? 'string' : 'int', index.type) && is !== 'any') {
    return checker.problem(`the index must be ${isKeyed ? 'text' : 'an int'}`, index.offset);
  }
  const { path } = held;
  return reading({
    type: is === 'list' || is === 'map' ? held.type.of : ANY,
    offset,
    label,
    fetch: (run, frame) => itemAt({ held: held.run(run, frame), index: index.run(run, frame), offset, label }),
    ...(path !== undefined && {
      path: (run, frame) => {
        const at = index.run(run, frame);
        return [...(path(run, frame) ?? []), typeof at === 'bigint' ? Number(at) : String(at)];
      },
    }),
  });
}

interface Item {
  readonly held: CelValue | NoValue;
  readonly index: CelValue | NoValue;
  readonly offset: number;
  readonly label: string | undefined;
}

function itemAt({ held, index, offset, label = 'the item' }: Item): CelValue | NoValue {
  if (held instanceof NoValue) return held;
  if (index instanceof NoValue) return index;
  const missing = new NoValue(`${label} is not set`, { offset, isMissing: true });
  if (isList(held) && typeof index === 'bigint') {
    // An item may be null.
    const item = held[Number(index)];
    return item === undefined ? missing : item;
  }
  if (isMap(held) && typeof index === 'string') {
    return Object.hasOwn(held, index) ? (held[index] as CelValue) : missing;
  }
  return new NoValue(`${label} cannot be read with this index`, { offset });
}

/** `isSecret(spec.url)` */
function secrecy(checker: Checker, args: readonly Expression[], { offset, bound }: CallSite): RulePart {
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
      return value instanceof NoValue ? value : value instanceof Opaque && value.why === 'secret';
    },
  };
}
