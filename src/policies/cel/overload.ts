import type { Type } from './types.ts';
import type { CelValue, Meter, ValuesByType, ValueType } from './values.ts';

/** One signature of a function, and its implementation. For a method, the first argument is the receiver. */
export interface Overload {
  readonly takes: readonly (ValueType | 'any')[];
  resultType(args: readonly Type[]): Type;
  /** @throws NoResult, HiddenValue, CostExceeded */
  run(args: readonly CelValue[], meter: Meter): CelValue;
}

export type Overloads = Readonly<Record<string, readonly Overload[]>>;

/** Thrown if a function has no result for its arguments. The message is a clause. */
export class NoResult extends Error {}

/** Runs the work. Returns the message of the `NoResult` that it throws, if any. */
export function problemOf(work: () => unknown): string | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    if (error instanceof NoResult) return error.message;
    throw error;
  }
}

type Arguments<Takes extends Overload['takes']> = {
  readonly [Index in keyof Takes]: Takes[Index] extends ValueType ? ValuesByType[Takes[Index]] : CelValue;
};

/** @param run the implementation, which receives arguments of the types in `takes`. */
export function overload<const Takes extends Overload['takes']>(
  takes: Takes,
  resultType: Type | Overload['resultType'],
  run: (args: Arguments<Takes>, meter: Meter) => CelValue,
): Overload {
  return {
    takes,
    resultType: typeof resultType === 'function' ? resultType : () => resultType,
    run: (args, meter) => run(args as readonly unknown[] as Arguments<Takes>, meter),
  };
}
