import { didYouMean, didYouMeanOneOf } from '../../problems/suggest.ts';
import type { Condition, Evaluation, RuleProblem } from '../rule.ts';
import { booleanOf, callOf, isBool } from './call.ts';
import {
  all,
  type BoundName,
  type CallSite,
  type Checker,
  dataPart,
  type MacroFrame,
  type RulePart,
  type Run,
} from './part.ts';
import { type Expression, type Parts, readSyntax, type Syntax } from './syntax.ts';
import { ANY, BOOL, DOUBLE, INT, listOf, NOTHING, STRING, type Type, typeName, unionOf } from './types.ts';
import { type CelValue, CostExceeded, isList, isMap, keysOf, Meter, NoValue } from './values.ts';

/** The variable whose field paths are reported in violations. */
const SPEC = 'spec';

/** Checks a rule against the types of its variables, and compiles it to functions. */
class Compiler implements Checker {
  readonly problems: RuleProblem[] = [];
  readonly #syntax: Syntax;
  readonly #variables: ReadonlyMap<string, Type>;

  constructor(syntax: Syntax, variables: ReadonlyMap<string, Type>) {
    this.#syntax = syntax;
    this.#variables = variables;
  }

  part(expression: Expression, bound: BoundName | undefined): RulePart {
    const { exprKind } = expression;
    const offset = this.#syntax.offsetOf(expression);
    switch (exprKind.case) {
      case 'constExpr':
        return this.#constant(exprKind.value.constantKind, offset);
      case 'identExpr':
        return this.#variable(exprKind.value.name, offset, bound);
      case 'selectExpr': {
        const { field, testOnly } = exprKind.value;
        const operand = this.required(exprKind.value.operand, bound);
        return testOnly ? this.#presence(operand, field, offset) : this.field(operand, field, offset);
      }
      case 'callExpr':
        return callOf(this, exprKind.value, { offset, bound });
      case 'listExpr':
        return this.#list(exprKind.value.elements, { offset, bound });
      case 'structExpr':
        return this.#map(exprKind.value, { offset, bound });
      case 'comprehensionExpr':
        return macroOf(this, exprKind.value, { offset, bound });
      default:
        return this.problem('this expression is not supported', offset);
    }
  }

  required(expression: Expression | undefined, bound: BoundName | undefined): RulePart {
    return expression === undefined ? this.problem('an expression is missing here', 0) : this.part(expression, bound);
  }

  problem(message: string, offset: number): RulePart {
    this.problems.push({ message, offset });
    return { type: ANY, offset, run: () => new NoValue(message, { offset }) };
  }

  #constant(kind: { readonly case?: string | undefined; readonly value?: unknown }, offset: number): RulePart {
    const constantPart = (constant: CelValue, type: Type): RulePart => ({
      type,
      offset,
      constant,
      run: () => constant,
    });
    switch (kind.case) {
      case 'stringValue':
        return constantPart(kind.value as string, { is: 'string', values: [kind.value as string] });
      case 'int64Value':
        return BigInt.asIntN(64, kind.value as bigint) === kind.value
          ? constantPart(kind.value, INT)
          : this.problem('the number is too large', offset);
      case 'doubleValue':
        return constantPart(kind.value as number, DOUBLE);
      case 'boolValue':
        return constantPart(kind.value as boolean, BOOL);
      case 'nullValue':
        return constantPart(null, { is: 'null' });
      default:
        return this.problem('bytes and unsigned numbers are not supported', offset);
    }
  }

  #variable(name: string, offset: number, bound: BoundName | undefined): RulePart {
    for (let binding = bound; binding !== undefined; binding = binding.outer) {
      if (binding.name === name) return boundVariable(binding, offset);
    }
    const type = this.#variables.get(name);
    if (type === undefined) {
      const known = [...this.#variables.keys()];
      const near = didYouMean(name, known) || `; available: ${known.join(', ')}`;
      return this.problem(`unknown name ${JSON.stringify(name)}${near}`, offset);
    }
    return dataPart({
      type,
      offset,
      label: name,
      fetch: ({ variables }) => variables[name] ?? null,
      ...(name === SPEC && { path: () => [] }),
    });
  }

  field(operand: RulePart, name: string, offset: number): RulePart {
    const label = `${operand.label ?? '(…)'}.${name}`;
    const { path } = operand;
    return dataPart({
      type: this.#fieldType(operand, name, offset),
      offset,
      label,
      fetch: (run, frame) => {
        const object = operand.run(run, frame);
        if (object instanceof NoValue) return object;
        if (!isMap(object)) return new NoValue(`${operand.label ?? 'the value'} is not an object`, { offset });
        if (Object.hasOwn(object, name)) return object[name] as CelValue;
        return new NoValue(`${label} is not set; test it first: has(${label})`, { offset, isMissing: true });
      },
      ...(path !== undefined && { path: (run, frame) => [...(path(run, frame) ?? []), name] }),
    });
  }

  #fieldType(operand: RulePart, name: string, offset: number): Type {
    const { type } = operand;
    if (type.is === 'any' || type.is === 'nothing') return ANY;
    if (type.is === 'map') return type.of;
    if (type.is === 'object') {
      const field = type.fields.get(name);
      if (field !== undefined) return field;
      const near =
        didYouMean(name, type.fields.keys()) || didYouMeanOneOf(pathsTo(name, this.#variables.get(SPEC) ?? ANY, SPEC));
      this.problem(`unknown field ${JSON.stringify(name)}${near}`, offset);
    } else this.problem(`${operand.label ?? 'the value'} is ${typeName(type)} and has no fields`, offset);
    return ANY;
  }

  /** Checks and compiles `has(operand.field)`, which is also false if the operand is missing. */
  #presence(operand: RulePart, name: string, offset: number): RulePart {
    const field = this.field(operand, name, offset);
    return {
      type: BOOL,
      offset,
      run: (run, frame) => {
        if (field.path !== undefined) run.last = { part: field, frame };
        run.meter.take(1);
        const object = operand.run(run, frame);
        if (field.path !== undefined) run.last = { part: field, frame };
        if (object instanceof NoValue) return object.isMissing ? false : object;
        return isMap(object) && Object.hasOwn(object, name) && object[name] !== null;
      },
    };
  }

  #list(elements: readonly Expression[], { offset, bound }: CallSite): RulePart {
    const parts = elements.map((element) => this.readable(element, bound));
    return {
      type: listOf(parts.map(({ type }) => type).reduce(unionOf, NOTHING)),
      offset,
      run: (run, frame) => {
        run.meter.take(1);
        return all(parts, run, frame);
      },
    };
  }

  #map(struct: Parts<'structExpr'>, { offset, bound }: CallSite): RulePart {
    if (struct.messageName !== '') return this.problem('messages are not supported', offset);
    const entries = struct.entries.map(({ keyKind, value }) => {
      const key = keyKind.case === 'mapKey' ? this.part(keyKind.value, bound) : undefined;
      const name = key?.constant;
      if (typeof name !== 'string') this.problem('the keys of an object must be strings', key?.offset ?? offset);
      return { name: String(name), part: this.readable(value, bound) };
    });
    const parts = entries.map(({ part }) => part);
    return {
      type: { is: 'map', of: parts.map(({ type }) => type).reduce(unionOf, NOTHING) },
      offset,
      run: (run, frame) => {
        run.meter.take(1);
        const values = all(parts, run, frame);
        if (values instanceof NoValue) return values;
        return Object.fromEntries(entries.map(({ name }, index) => [name, values[index] as CelValue]));
      },
    };
  }

  readable(expression: Expression | undefined, bound: BoundName | undefined): RulePart {
    const part = this.required(expression, bound);
    if (part.type.is !== 'secret') return part;
    return this.problem(
      `${part.label} is a secret: rules can use only has(${part.label}) and isSecret(${part.label})`,
      part.offset,
    );
  }
}

function boundVariable({ name, type, isOfSpec }: BoundName, offset: number): RulePart {
  const find = (frame: MacroFrame | undefined): MacroFrame | undefined => {
    let current = frame;
    while (current !== undefined && current.name !== name) current = current.outer;
    return current;
  };
  return dataPart({
    type,
    offset,
    label: name,
    fetch: (_, frame) => find(frame)?.value ?? null,
    ...(isOfSpec && { path: (_, frame) => find(frame)?.path }),
  });
}

function pathsTo(name: string, type: Type, path: string): string[] {
  if (type.is !== 'object') return [];
  return [...type.fields].flatMap(([key, field]) => [
    ...(key === name ? [`${path}.${key}`] : []),
    ...pathsTo(name, field, `${path}.${key}`),
  ]);
}

/** Compiles a macro such as `list.all(x, …)`, which the parser expands to a loop over the items of a list or the keys of an object. */
function macroOf(checker: Checker, fold: Parts<'comprehensionExpr'>, { offset, bound }: CallSite): RulePart {
  const range = checker.readable(fold.iterRange, bound);
  const start = checker.required(fold.accuInit, bound);
  const isOfSpec = range.path !== undefined;
  const accumulated = (type: Type) => ({ name: fold.accuVar, type, isOfSpec: false, outer: bound });
  const inside = { name: fold.iterVar, type: itemType(checker, range), isOfSpec, outer: accumulated(start.type) };
  const continues = checker.required(fold.loopCondition, inside);
  const step = checker.required(fold.loopStep, inside);
  const result = checker.required(fold.result, accumulated(step.type));
  return {
    type: result.type,
    offset,
    run(run, outer) {
      const collection = range.run(run, outer);
      if (collection instanceof NoValue) return collection;
      const items = isList(collection) ? collection : isMap(collection) ? keysOf(collection, run.meter) : undefined;
      if (items === undefined) {
        return new NoValue(`${range.label ?? 'the value'} is not a list or an object`, { offset: range.offset });
      }
      const base = range.path?.(run, outer);
      const total: MacroFrame = { name: fold.accuVar, value: start.run(run, outer), path: undefined, outer };
      for (const [index, value] of items.entries()) {
        run.meter.take(2);
        const path = base && [...base, isList(collection) ? index : String(value)];
        const frame: MacroFrame = { name: fold.iterVar, value, path, outer: total };
        if (continues.run(run, frame) !== true) break;
        total.value = step.run(run, frame);
      }
      return result.run(run, total);
    },
  };
}

function itemType(checker: Checker, range: RulePart): Type {
  const { type } = range;
  switch (type.is) {
    case 'list':
      return type.of;
    case 'map':
    case 'object':
      return STRING;
    case 'any':
    case 'nothing':
      return ANY;
    default:
      checker.problem(`${range.label ?? 'the value'} is ${typeName(type)}, not a list or an object`, range.offset);
      return ANY;
  }
}

/** Parses, checks and compiles a condition. Returns the problems of an invalid condition. */
export function readCondition(
  text: string,
  variables: ReadonlyMap<string, Type>,
): Condition | { readonly problems: readonly RuleProblem[] } {
  const syntax = readSyntax(text);
  if ('problem' in syntax) return { problems: [syntax.problem] };
  try {
    const compiler = new Compiler(syntax, variables);
    const part = compiler.part(syntax.expression, undefined);
    if (compiler.problems.length > 0) return { problems: compiler.problems };
    if (isBool(part.type))
      return { evaluate: (values, steps, patterns) => evaluate(part, values, new Meter(steps, patterns)) };
    const message = `the condition must be true or false, but is ${typeName(part.type)}`;
    return { problems: [{ message, offset: 0 }] };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return { problems: [{ message: 'the rule is nested too deeply', offset: 0 }] };
  }
}

function evaluate(part: RulePart, variables: Readonly<Record<string, CelValue>>, meter: Meter): Evaluation {
  const steps = meter.remaining;
  const run: Run = { variables, meter, last: undefined };
  const holds = runGuarded(() => booleanOf(part, run, undefined), part);
  const { last } = run;
  const path =
    last && runGuarded(() => last.part.path?.({ ...run, meter: new Meter(steps, meter.patterns) }, last.frame), part);
  return {
    holds:
      holds instanceof NoValue ? (holds.isUnset ? undefined : { message: holds.message, offset: holds.offset }) : holds,
    path: path instanceof NoValue ? undefined : path,
    cost: steps - meter.remaining,
  };
}

function runGuarded<T>(work: () => T | NoValue, { offset }: RulePart): T | NoValue {
  try {
    return work();
  } catch (error) {
    if (error instanceof CostExceeded) return new NoValue('the rule takes too many steps', { offset });
    if (error instanceof RangeError) return new NoValue('the rule is nested too deeply', { offset });
    throw error;
  }
}
