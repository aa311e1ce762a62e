import type { DocumentPath } from '../manifests/finding.ts';
import type { Diagnostic } from '../problems/diagnostic.ts';
import type { Policy } from '../project/policy-schema.ts';
import type { CelValue, Patterns } from './cel/values.ts';

/** Rules of one file. */
export interface PolicySource {
  /** Rules of a file and of a fleet add to those of the project. */
  readonly of: 'project' | 'file' | 'fleet';
  /** Name of the file in reports. */
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
export interface ExternalPolicies {
  /** Read again by each run. */
  readonly files: readonly PolicyFile[];
  readonly fleet?: PolicySource | undefined;
  /** The rules of another version of the project. Those that it still has are not counted twice. */
  readonly base?: PolicySource | undefined;
}

/** A problem at a place in the text of a rule. */
export interface RuleProblem {
  readonly message: string;
  /** Offset in the text, starting at 0. */
  readonly offset: number;
}

export interface Evaluation {
  /** Undefined if it depends on values that are not known yet. */
  readonly holds: boolean | undefined | RuleProblem;
  /** The field of the spec that decided, if known. */
  readonly path: DocumentPath | undefined;
  readonly cost: number;
}

export interface Condition {
  /** Takes at most this many steps and caches compiled regular expressions in `patterns`. Never throws, whatever the rule and the data. */
  evaluate(variables: Readonly<Record<string, CelValue>>, steps: number, patterns?: Patterns): Evaluation;
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
