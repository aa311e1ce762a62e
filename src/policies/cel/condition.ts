import type { DocumentPath } from '../../manifests/finding.ts';
import type { CelValue, Patterns } from './values.ts';

/** What is wrong at a place in the text of a rule. */
export interface RuleProblem {
  readonly message: string;
  /** In the text, from 0. */
  readonly offset: number;
}

export interface Evaluation {
  /** Undefined where it depends on what is not known yet. */
  readonly holds: boolean | undefined | RuleProblem;
  /** The part of the spec that decided, as far as that can be told. */
  readonly path: DocumentPath | undefined;
  /** Steps that it took. */
  readonly cost: number;
}

/** A condition that was checked. */
export interface Condition {
  /** Whether it holds for this data. Never throws over the rule or the data, and takes no more than so many steps. What it compiles is kept with the patterns. */
  evaluate(variables: Readonly<Record<string, CelValue>>, steps: number, patterns?: Patterns): Evaluation;
}
