import type { RulePart } from './part.ts';
import type { Expression } from './syntax.ts';
import type { Type } from './types.ts';

/** A variable of a macro, while the rule is checked. */
export interface BoundName {
  readonly name: string;
  readonly type: Type;
  /** True where its values come from the spec. */
  readonly isOfSpec: boolean;
  readonly outer: BoundName | undefined;
}

/** Where an expression stands. */
export interface CallSite {
  readonly offset: number;
  readonly bound: BoundName | undefined;
}

/** What the checks of single expressions have in common. */
export interface Checker {
  part(expression: Expression, bound: BoundName | undefined): RulePart;
  /** A part that the grammar always has. */
  given(expression: Expression | undefined, bound: BoundName | undefined): RulePart;
  /** A part whose value is used: it must not be a secret. */
  readable(expression: Expression | undefined, bound: BoundName | undefined): RulePart;
  /** `held.name`, and `held["name"]`. */
  field(held: RulePart, name: string, offset: number): RulePart;
  /** Notes the problem, and stands in for the part so that the rest can be checked. */
  problem(message: string, offset: number): RulePart;
}
