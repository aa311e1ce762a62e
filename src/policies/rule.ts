import type { Diagnostic } from '../problems/diagnostic.ts';
import type { Policy } from '../project/policy-schema.ts';
import type { Condition } from './cel/evaluate.ts';

/** Rules of one file. */
export interface PolicySource {
  /** Rules of a file and of a fleet add to those of the project. */
  readonly of: 'project' | 'file' | 'fleet';
  /** The name in reports. */
  readonly file: string;
  /** Absolute. */
  readonly path: string;
  readonly policies: readonly Policy[];
}

/** A file that `--policy` names. */
export interface PolicyFile {
  /** Absolute. */
  readonly path: string;
  /** As given on the command line. */
  readonly file: string;
}

/** Rules from outside, which the project cannot weaken. */
export interface OtherPolicies {
  /** Read again by each run. */
  readonly files: readonly PolicyFile[];
  readonly fleet?: PolicySource | undefined;
}

/** A checked rule. */
export interface Rule {
  readonly name: string;
  readonly on: 'manifest' | 'plan';
  /** Undefined for every kind. */
  readonly kind: string | undefined;
  readonly severity: 'deny' | 'warn';
  readonly message: string;
  readonly isWaivable: boolean;
  readonly source: PolicySource;
  /** Its position in the file. */
  readonly index: number;
  /** As written. */
  readonly text: string;
  readonly condition: Condition;
}

export interface RuleSet {
  readonly rules: readonly Rule[];
  /** Problems of other rules. One of them is enough to refuse an apply. */
  readonly diagnostics: readonly Diagnostic[];
}
