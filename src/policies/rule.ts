import type { Diagnostic } from '../problems/diagnostic.ts';
import type { Condition } from './cel/condition.ts';
import type { PolicySource } from './policy-source.ts';

/** A rule that was checked. */
export interface Rule {
  readonly name: string;
  readonly on: 'manifest' | 'plan';
  /** Undefined for every kind. */
  readonly kind: string | undefined;
  readonly severity: 'deny' | 'warn';
  readonly message: string;
  readonly isWaivable: boolean;
  readonly source: PolicySource;
  /** In its file. */
  readonly index: number;
  /** As written. */
  readonly text: string;
  readonly condition: Condition;
}

export interface RuleSet {
  readonly rules: readonly Rule[];
  /** What is wrong with others: with one among them, nothing may be applied. */
  readonly diagnostics: readonly Diagnostic[];
}
