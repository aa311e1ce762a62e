import type { DocumentPath } from '../manifests/finding.ts';
import type { Diagnostic } from '../problems/diagnostic.ts';
import type { Policy } from '../project/policy-schema.ts';
import type { CelValue, Patterns } from './cel/values.ts';

/** The rules of one file. */
export interface PolicySource {
  /** The origin of the rules. Rules of a `--policy` file or of a fleet apply in addition to those of the project. */
  readonly of: 'project' | 'file' | 'fleet';
  /** The name of the file in messages. */
  readonly file: string;
  /** The absolute path of the file. */
  readonly path: string;
  readonly policies: readonly Policy[];
}

/** A `--policy` file. */
export interface PolicyFile {
  /** The absolute path of the file. */
  readonly path: string;
  /** The path as given on the command line. */
  readonly file: string;
}

/** Rules from outside the project, which the project cannot weaken. */
export interface ExternalPolicies {
  /** The `--policy` files. Each run reads them again. */
  readonly files: readonly PolicyFile[];
  readonly fleet?: PolicySource | undefined;
  /** The rules of another version of the project. Rules that are also in the current version apply once. */
  readonly base?: PolicySource | undefined;
}

/** A problem at a position in the text of a rule. */
export interface RuleProblem {
  readonly message: string;
  /** Offset in the text, starting at 0. */
  readonly offset: number;
}

export interface Evaluation {
  /** The result, or the problem if there is none. Undefined if the result depends on values that are not known yet. */
  readonly holds: boolean | undefined | RuleProblem;
  /** The path of the spec field that determined the result, if known. */
  readonly path: DocumentPath | undefined;
  /** The number of steps that the evaluation took. */
  readonly cost: number;
}

export interface Condition {
  /** Evaluates the condition in at most `steps` steps. Caches compiled regular expressions in `patterns`. Never throws. */
  evaluate(variables: Readonly<Record<string, CelValue>>, steps: number, patterns?: Patterns): Evaluation;
}

/** A valid rule. */
export interface Rule {
  readonly name: string;
  readonly on: 'manifest' | 'plan';
  /** Undefined if the rule applies to every kind. */
  readonly kind: string | undefined;
  readonly severity: 'deny' | 'warn';
  readonly message: string;
  readonly isWaivable: boolean;
  readonly source: PolicySource;
  /** The index of the rule in the file. */
  readonly index: number;
  /** The condition as written. */
  readonly text: string;
  readonly condition: Condition;
}

export interface RuleSet {
  readonly rules: readonly Rule[];
  /** Problems of invalid rules. An apply is refused if there are any. */
  readonly diagnostics: readonly Diagnostic[];
}
