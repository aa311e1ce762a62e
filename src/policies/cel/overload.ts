import type { Type } from './types.ts';
import type { CelSort, CelValue, Meter } from './values.ts';

/** A signature of a function, and its implementation. The first argument of a method is its object. */
export interface Overload {
  readonly takes: readonly (CelSort | 'any')[];
  gives(args: readonly Type[]): Type;
  /** @throws NoResult, HiddenInside, CostExceeded */
  run(args: readonly CelValue[], meter: Meter): CelValue;
}

export type Overloads = Readonly<Record<string, readonly Overload[]>>;

/** The function has no result for these arguments. The message is a clause. */
export class NoResult extends Error {}

/** @param run gets arguments of the sorts in `takes`. */
export function overload<Args extends readonly unknown[]>(
  takes: Overload['takes'],
  gives: Type | Overload['gives'],
  run: (args: Args, meter: Meter) => CelValue,
): Overload {
  return {
    takes,
    gives: typeof gives === 'function' ? gives : () => gives,
    run: (args, meter) => run(args as readonly unknown[] as Args, meter),
  };
}
