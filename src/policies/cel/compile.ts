import { didYouMean, meant } from '../../problems/suggest.ts';
import type { RuleProblem } from '../rule.ts';
import { callOf } from './call.ts';
import { foldOf } from './macros.ts';
import { all, type BoundName, type CallSite, type Checker, type MacroFrame, type RulePart, reading } from './part.ts';
import type { Expression, Syntax } from './syntax.ts';
import { ANY, BOOL, DOUBLE, INT, joined, listOf, NOTHING, type Type, wordFor } from './types.ts';
import { type CelValue, isMap, NoValue } from './values.ts';

/** The variable whose fields have paths in reports. */
const SPEC = 'spec';

interface Compiled {
  readonly part: RulePart;
  readonly problems: readonly RuleProblem[];
}

/** Checks a rule against the types of its variables, and compiles it to functions. */
export function compile(syntax: Syntax, variables: ReadonlyMap<string, Type>): Compiled {
  const compiler = new Compiler(syntax, variables);
  return { part: compiler.part(syntax.expression, undefined), problems: compiler.problems };
}

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
        const { operand, field, testOnly } = exprKind.value;
        const held = this.required(operand, bound);
        return testOnly ? this.#presence(held, field, offset) : this.field(held, field, offset);
      }
      case 'callExpr':
        return callOf(this, exprKind.value, { offset, bound });
      case 'listExpr':
        return this.#list(exprKind.value.elements, { offset, bound });
      case 'structExpr':
        return this.#map(exprKind.value, { offset, bound });
      case 'comprehensionExpr':
        return foldOf(this, exprKind.value, { offset, bound });
      default:
        return this.problem('not supported here', offset);
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
    const of = (constant: CelValue, type: Type): RulePart => ({
      type,
      offset,
      constant,
      run: () => constant,
    });
    switch (kind.case) {
      case 'stringValue':
        return of(kind.value as string, { is: 'string', values: [kind.value as string] });
      case 'int64Value':
        return BigInt.asIntN(64, kind.value as bigint) === kind.value
          ? of(kind.value, INT)
          : this.problem('the number is too large', offset);
      case 'doubleValue':
        return of(kind.value as number, DOUBLE);
      case 'boolValue':
        return of(kind.value as boolean, BOOL);
      case 'nullValue':
        return of(null, { is: 'null' });
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
    return reading({
      type,
      offset,
      label: name,
      fetch: ({ variables }) => variables[name] ?? null,
      ...(name === SPEC && { path: () => [] }),
    });
  }

  field(held: RulePart, name: string, offset: number): RulePart {
    const label = `${held.label ?? '(…)'}.${name}`;
    const { path } = held;
    return reading({
      type: this.#fieldType(held, name, offset),
      offset,
      label,
      fetch: (run, frame) => {
        const holder = held.run(run, frame);
        if (holder instanceof NoValue) return holder;
        if (!isMap(holder)) return new NoValue(`${held.label ?? 'this'} is not an object`, { offset });
        if (Object.hasOwn(holder, name)) return holder[name] as CelValue;
        return new NoValue(`${label} is not set; test it first: has(${label})`, { offset, isMissing: true });
      },
      ...(path !== undefined && { path: (run, frame) => [...(path(run, frame) ?? []), name] }),
    });
  }

  #fieldType(held: RulePart, name: string, offset: number): Type {
    const { type } = held;
    if (type.is === 'any' || type.is === 'nothing') return ANY;
    if (type.is === 'map') return type.of;
    if (type.is === 'object') {
      const field = type.fields.get(name);
      if (field !== undefined) return field;
      const near = didYouMean(name, type.fields.keys()) || this.#elsewhere(name);
      this.problem(`unknown field ${JSON.stringify(name)}${near}`, offset);
    } else {
      this.problem(`${held.label ?? 'this'} is ${wordFor(type)} and has no fields`, offset);
    }
    return ANY;
  }

  #elsewhere(name: string): string {
    const spec = this.#variables.get(SPEC);
    return meant(spec === undefined ? [] : pathsTo(name, spec, SPEC));
  }

  /** `has(held.field)`; false too if `held` is missing. */
  #presence(held: RulePart, name: string, offset: number): RulePart {
    const field = this.field(held, name, offset);
    return {
      type: BOOL,
      offset,
      run: (run, frame) => {
        if (field.path !== undefined) run.last = { part: field, frame };
        run.meter.take(1);
        const holder = held.run(run, frame);
        if (field.path !== undefined) run.last = { part: field, frame };
        if (holder instanceof NoValue) return holder.isMissing ? false : holder;
        return isMap(holder) && Object.hasOwn(holder, name) && holder[name] !== null;
      },
    };
  }

  #list(elements: readonly Expression[], { offset, bound }: CallSite): RulePart {
    const parts = elements.map((element) => this.readable(element, bound));
    return {
      type: listOf(parts.map(({ type }) => type).reduce(joined, NOTHING)),
      offset,
      run: (run, frame) => {
        run.meter.take(1);
        return all(parts, run, frame);
      },
    };
  }

  #map(struct: StructValue, { offset, bound }: CallSite): RulePart {
    if (struct.messageName !== '') return this.problem('messages are not supported', offset);
    const entries = struct.entries.map(({ keyKind, value }) => {
      const key = keyKind.case === 'mapKey' ? this.part(keyKind.value as Expression, bound) : undefined;
      const name = key?.constant;
      if (typeof name !== 'string') this.problem('the keys of an object must be text', key?.offset ?? offset);
      return { name: String(name), part: this.readable(value, bound) };
    });
    return {
      type: { is: 'map', of: entries.map(({ part }) => part.type).reduce(joined, NOTHING) },
      offset,
      run: (run, frame) => {
        run.meter.take(1);
        const values = all(
          entries.map(({ part }) => part),
          run,
          frame,
        );
        if (values instanceof NoValue) return values;
        return Object.fromEntries(entries.map(({ name }, index) => [name, values[index] as CelValue]));
      },
    };
  }

  readable(expression: Expression | undefined, bound: BoundName | undefined): RulePart {
    const part = this.required(expression, bound);
    if (part.type.is !== 'secret') return part;
    return this.problem(
      `${part.label} is a secret: a rule can only ask for has(${part.label}) and isSecret(${part.label})`,
      part.offset,
    );
  }
}

interface StructValue {
  readonly messageName: string;
  readonly entries: readonly {
    readonly keyKind: { readonly case?: string | undefined; readonly value?: unknown };
    readonly value?: Expression | undefined;
  }[];
}

function boundVariable({ name, type, isOfSpec }: BoundName, offset: number): RulePart {
  const find = (frame: MacroFrame | undefined): MacroFrame | undefined => {
    let found = frame;
    while (found !== undefined && found.name !== name) found = found.outer;
    return found;
  };
  return reading({
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
