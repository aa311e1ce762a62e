import type { DocumentPath } from '../../manifests/finding.ts';
import type { Type } from './types.ts';
import { type CelValue, type Meter, NoValue, Opaque } from './values.ts';

/** A variable that a macro binds. */
export interface MacroFrame {
  readonly name: string;
  value: CelValue | NoValue;
  /** Of an item of the spec: its path there. */
  readonly path: DocumentPath | undefined;
  readonly outer: MacroFrame | undefined;
}

/** One run of a rule. */
export interface Run {
  readonly variables: Readonly<Record<string, CelValue>>;
  readonly meter: Meter;
  /** The part of the spec that was looked at last. */
  last: { readonly part: RulePart; readonly frame: MacroFrame | undefined } | undefined;
}

/** A part of a rule that was checked. */
export interface RulePart {
  readonly type: Type;
  /** In the text of the rule. */
  readonly offset: number;
  /** @throws CostExceeded */
  run(run: Run, frame: MacroFrame | undefined): CelValue | NoValue;
  /** The value as it is in the data, a secret included. Of what is read from there. */
  fetch?(run: Run, frame: MacroFrame | undefined): CelValue | NoValue;
  /** Of what is read from the spec: the path there. */
  path?(run: Run, frame: MacroFrame | undefined): DocumentPath | undefined;
  /** As messages name it. */
  readonly label?: string | undefined;
  readonly constant?: CelValue;
}

type Reading = Required<Pick<RulePart, 'type' | 'offset' | 'fetch'>> & Pick<RulePart, 'path' | 'label'>;

/** A part that is read from the data. */
export function reading({ type, offset, label, fetch, path }: Reading): RulePart {
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
      return typeof value === 'number' && isWhole(value, type) ? BigInt(value) : value;
    },
  };
  return part;
}

/** The data has no ints: the schema tells what is one, or where it does not, the value. */
function isWhole(value: number, { is }: Type): boolean {
  return is !== 'double' && Number.isSafeInteger(value);
}

export function hiddenFailure(
  { why }: Opaque,
  { offset, label }: { readonly offset: number; readonly label?: string | undefined },
): NoValue {
  const said = label ?? 'a value';
  if (why === 'unset') return new NoValue(`${said} is not known yet`, { offset, isUnset: true });
  const hint = label === undefined ? '' : `; test it first: isSecret(${label})`;
  return new NoValue(`${said} is a secret, which no rule can read${hint}`, { offset });
}

/** The values of the parts, or the first that has none. */
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
