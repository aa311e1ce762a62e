import type { DocumentPath } from '../../manifests/finding.ts';
import type { Expression } from './syntax.ts';
import type { Type } from './types.ts';
import { type CelValue, type Meter, NoValue, Opaque } from './values.ts';

/** A macro variable and its current value. */
export interface MacroFrame {
  readonly name: string;
  value: CelValue | NoValue;
  /** The path of the value in the spec, if the value comes from the spec. */
  readonly path: DocumentPath | undefined;
  readonly outer: MacroFrame | undefined;
}

export interface Run {
  readonly variables: Readonly<Record<string, CelValue>>;
  readonly meter: Meter;
  /** The spec field that was read last. */
  last: { readonly part: RulePart; readonly frame: MacroFrame | undefined } | undefined;
}

export interface RulePart {
  readonly type: Type;
  /** Offset in the text of the rule. */
  readonly offset: number;
  /** @throws CostExceeded */
  run(run: Run, frame: MacroFrame | undefined): CelValue | NoValue;
  /** Returns the value in the data, which may be a secret. Only parts that read data have this method. */
  fetch?(run: Run, frame: MacroFrame | undefined): CelValue | NoValue;
  /** Returns the path of a field in the spec. */
  path?(run: Run, frame: MacroFrame | undefined): DocumentPath | undefined;
  /** The name of the part in messages. */
  readonly label?: string | undefined;
  readonly constant?: CelValue;
}

type ReadPart = Omit<RulePart, 'run'> & Required<Pick<RulePart, 'fetch'>>;

/** Creates a part that reads the data. */
export function dataPart({ type, offset, label, fetch, path }: ReadPart): RulePart {
  const part: RulePart = {
    type,
    offset,
    label,
    fetch,
    ...(path !== undefined && { path }),
    run(run, frame) {
      run.meter.take(1);
      const value = fetch(run, frame);
      if (path !== undefined) run.last = { part, frame };
      if (value instanceof Opaque) return hiddenFailure(value, { offset, label });
      // JSON has no int type. A whole number is an int, unless the schema makes it a double.
      const isInt = typeof value === 'number' && type.is !== 'double' && Number.isSafeInteger(value);
      return isInt ? BigInt(value) : value;
    },
  };
  return part;
}

export function hiddenFailure({ reason }: Opaque, { offset, label }: Pick<RulePart, 'offset' | 'label'>): NoValue {
  const name = label ?? 'a value';
  if (reason === 'unset') return new NoValue(`${name} is not known yet`, { offset, isUnset: true });
  const hint = label === undefined ? '' : `; test it first: isSecret(${label})`;
  return new NoValue(`${name} is a secret, which rules cannot read${hint}`, { offset });
}

/** Returns the values of the parts, or the first `NoValue`. */
export function all(
  parts: readonly RulePart[],
  run: Run,
  frame: MacroFrame | undefined,
): readonly CelValue[] | NoValue {
  const values: CelValue[] = [];
  for (const part of parts) {
    const value = part.run(run, frame);
    if (value instanceof NoValue) return value;
    values.push(value);
  }
  return values;
}

/** A macro variable and its static type. */
export interface BoundName {
  readonly name: string;
  readonly type: Type;
  /** True if the values of the variable come from the spec. */
  readonly isOfSpec: boolean;
  readonly outer: BoundName | undefined;
}

export interface CallSite {
  readonly offset: number;
  readonly bound: BoundName | undefined;
}

/** The compiler functions that all expression checks use. */
export interface Checker {
  part(expression: Expression, bound: BoundName | undefined): RulePart;
  /** Checks an expression, and adds a problem if it is undefined. */
  required(expression: Expression | undefined, bound: BoundName | undefined): RulePart;
  /** Checks an expression, and adds a problem if its value is a secret. */
  readable(expression: Expression | undefined, bound: BoundName | undefined): RulePart;
  /** Checks `operand.name`, or `operand["name"]`. */
  field(operand: RulePart, name: string, offset: number): RulePart;
  /** Adds a problem. Returns a part of any type, so that the check can continue. */
  problem(message: string, offset: number): RulePart;
}
