import type { Condition, Evaluation, RuleProblem } from '../rule.ts';
import { compile } from './compile.ts';
import { booleanOf, isBool } from './logic.ts';
import type { RulePart, Run } from './part.ts';
import { readSyntax } from './syntax.ts';
import { type Type, wordFor } from './types.ts';
import { type CelValue, CostExceeded, Meter, NoValue } from './values.ts';

/** A condition, or the problems of its text. */
export function readCondition(
  text: string,
  variables: ReadonlyMap<string, Type>,
): Condition | { readonly problems: readonly RuleProblem[] } {
  const syntax = readSyntax(text);
  if ('problem' in syntax) return { problems: [syntax.problem] };
  try {
    const { part, problems } = compile(syntax, variables);
    if (problems.length > 0) return { problems };
    if (isBool(part.type))
      return { evaluate: (values, steps, patterns) => evaluate(part, values, new Meter(steps, patterns)) };
    const message = `a rule must be true or false, this is ${wordFor(part.type)}`;
    return { problems: [{ message, offset: 0 }] };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return { problems: [{ message: 'the rule is nested too deeply', offset: 0 }] };
  }
}

function evaluate(part: RulePart, variables: Readonly<Record<string, CelValue>>, meter: Meter): Evaluation {
  const steps = meter.left;
  const run: Run = { variables, meter, last: undefined };
  const holds = guarded(() => booleanOf(part, run, undefined), part);
  const { last } = run;
  const path =
    last && guarded(() => last.part.path?.({ ...run, meter: new Meter(steps, meter.patterns) }, last.frame), part);
  return {
    holds: holds instanceof NoValue ? failed(holds) : holds,
    path: path instanceof NoValue ? undefined : path,
    cost: steps - meter.left,
  };
}

function failed({ message, offset, isUnset }: NoValue): undefined | RuleProblem {
  return isUnset ? undefined : { message, offset };
}

function guarded<T>(work: () => T | NoValue, { offset }: RulePart): T | NoValue {
  try {
    return work();
  } catch (error) {
    if (error instanceof CostExceeded) return new NoValue('it takes too many steps', { offset });
    if (error instanceof RangeError) return new NoValue('it is nested too deeply', { offset });
    throw error;
  }
}
