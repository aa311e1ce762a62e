import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { compareDiagnostics, type Diagnostic } from '../problems/diagnostic.ts';
import { allDiagnostics } from '../project/all-diagnostics.ts';
import type { InvalidProject } from '../project/invalid-project.ts';
import type { Policy } from '../project/policy-schema.ts';
import type { Desired, ProjectConfig } from '../project/project.ts';
import type { EvaluationInput } from './judge.ts';
import type { ExternalPolicies, PolicySource, RuleSet } from './rule.ts';

export const NO_RULES: RuleSet = { rules: [], diagnostics: [] };

/**
 * Loads and checks all rules for a project. Rules with the same name do not replace each other. If there are no rules, the module that
 * reads rules is not loaded.
 * @throws UserError, or InvalidProject for an invalid `--policy` file.
 */
export async function loadRules(
  project: ProjectConfig,
  { files, fleet, base }: ExternalPolicies = { files: [] },
): Promise<RuleSet> {
  const { root, file = '', policies } = project;
  const own: PolicySource = { of: 'project', file, path: path.join(root, file), policies };
  const fromFiles = files.length === 0 ? [] : files.map((await import('./read-rules.ts')).readPolicyFile);
  const fromBase = base && { ...base, policies: base.policies.filter((each) => !includesPolicy(policies, each)) };
  return checkedRules([own, ...fromFiles, fleet, fromBase].filter((each) => each !== undefined));
}

function includesPolicy(policies: readonly Policy[], policy: Policy): boolean {
  return policies.some((each) => isDeepStrictEqual(each, policy));
}

export async function checkedRules(sources: readonly PolicySource[]): Promise<RuleSet> {
  if (sources.every(({ policies }) => policies.length === 0)) return NO_RULES;
  const { readRules } = await import('./read-rules.ts');
  return readRules(sources);
}

/** Adds the problems of the rules and, if there are no errors, the violations of the manifests. */
export async function withPolicies(
  desired: Desired,
  { rules, diagnostics: own }: RuleSet,
  input: Omit<EvaluationInput, 'sources'>,
): Promise<Desired> {
  if (rules.length + own.length === 0) return desired;
  const { diagnosticOf, violationsIn } = await import('./judge.ts');
  const { resources, diagnostics, sources } = desired;
  const isValid = diagnostics.every(({ severity }) => severity !== 'error');
  const violations = isValid ? await violationsIn(resources, rules, { ...input, sources }) : [];
  return {
    ...desired,
    diagnostics: [...diagnostics, ...own, ...violations.map(diagnosticOf)].sort(compareDiagnostics),
  };
}

/** Returns all problems of an invalid project that can be found, including those of its rules. */
export async function projectDiagnostics(
  error: InvalidProject,
  options: Parameters<typeof allDiagnostics>[1],
): Promise<readonly Diagnostic[]> {
  const all = await allDiagnostics(error, options);
  if (error.usable === undefined) return all;
  const { diagnostics } = await loadRules(error.usable);
  return [...all, ...diagnostics].sort(compareDiagnostics);
}
