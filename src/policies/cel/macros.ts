import type { CallSite, Checker, MacroFrame, RulePart } from './part.ts';
import type { Expression } from './syntax.ts';
import { ANY, STRING, type Type, wordFor } from './types.ts';
import { isList, isMap, keysOf, NoValue } from './values.ts';

interface Fold {
  readonly accuVar: string;
  readonly iterVar: string;
  readonly accuInit?: Expression | undefined;
  readonly iterRange?: Expression | undefined;
  readonly loopCondition?: Expression | undefined;
  readonly loopStep?: Expression | undefined;
  readonly result?: Expression | undefined;
}

/** A macro such as `list.all(x, …)`, as the parser expands it: a loop over the items of a list or the keys of an object. */
export function foldOf(checker: Checker, fold: Fold, { offset, bound }: CallSite): RulePart {
  const range = checker.readable(fold.iterRange, bound);
  const start = checker.required(fold.accuInit, bound);
  const isOfSpec = range.path !== undefined;
  const accumulated = (type: Type) => ({ name: fold.accuVar, type, isOfSpec: false, outer: bound });
  const inside = {
    name: fold.iterVar,
    type: itemType(checker, range),
    isOfSpec,
    outer: accumulated(start.type),
  };
  const continues = checker.required(fold.loopCondition, inside);
  const step = checker.required(fold.loopStep, inside);
  const result = checker.required(fold.result, accumulated(step.type));
  return {
    type: result.type,
    offset,
    run(run, outer) {
      const over = range.run(run, outer);
      if (over instanceof NoValue) return over;
      const items = isList(over) ? over : isMap(over) ? keysOf(over, run.meter) : undefined;
      if (items === undefined) return new NoValue(notIterable(range), { offset: range.offset });
      const base = range.path?.(run, outer);
      const total: MacroFrame = { name: fold.accuVar, value: start.run(run, outer), path: undefined, outer };
      for (const [index, value] of items.entries()) {
        run.meter.take(2);
        const path = base && [...base, isList(over) ? index : String(value)];
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
      checker.problem(`${notIterable(range)}, it is ${wordFor(type)}`, range.offset);
      return ANY;
  }
}

function notIterable({ label = 'this' }: RulePart): string {
  return `${label} is not a list or an object`;
}
