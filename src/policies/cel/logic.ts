import type { Checker, MacroFrame, RulePart, Run } from './part.ts';
import { BOOL, joined, type Type, wordFor } from './types.ts';
import { type CelValue, NoValue } from './values.ts';

type LazyOperator = (checker: Checker, parts: readonly RulePart[], offset: number) => RulePart;

/** Operators that do not evaluate all of their parts, or continue if one has no value. */
export const logic: Readonly<Record<string, LazyOperator | undefined>> = {
  '_&&_': connective({ decides: false, shown: '&&' }),
  '_||_': connective({ decides: true, shown: '||' }),
  '_?_:_': conditional,
  '@not_strictly_false': (_, [part], offset) => ({
    type: BOOL,
    offset,
    run: (run, frame) => part?.run(run, frame) !== false,
  }),
};

/** One deciding side is sufficient, even if the other one has no value. */
function connective({ decides, shown }: { readonly decides: boolean; readonly shown: string }): LazyOperator {
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

function conditional(checker: Checker, [when, then, other]: readonly RulePart[], offset: number): RulePart {
  if (when === undefined || then === undefined || other === undefined) {
    return checker.problem('? needs a condition and two values', offset);
  }
  expectBool(checker, when, '?');
  return {
    type: joined(then.type, other.type),
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
  checker.problem(`${shown} needs true or false, but ${label ?? 'this'} is ${wordFor(type)}`, offset);
}

export function isBool({ is }: Type): boolean {
  return is === 'bool' || is === 'any' || is === 'nothing';
}

/** True, false, or the reason for neither. */
export function booleanOf(part: RulePart, run: Run, frame: MacroFrame | undefined): boolean | NoValue {
  const value: CelValue | NoValue = part.run(run, frame);
  if (typeof value === 'boolean' || value instanceof NoValue) return value;
  return new NoValue(`${part.label ?? 'this'} is not true or false`, { offset: part.offset });
}
