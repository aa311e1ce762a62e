import { compareDiagnostics, type Diagnostic } from '../problems/diagnostic.ts';
import { allDiagnostics } from '../project/all-diagnostics.ts';
import type { InvalidProject } from '../project/invalid-project.ts';
import type { Desired, ProjectConfig } from '../project/project.ts';
import { loadRules } from './load-rules.ts';
import type { RuleSet } from './rule.ts';
import type { JudgeContext } from './rule-variables.ts';

interface Checking {
  readonly project: Pick<ProjectConfig, 'root'>;
  readonly workspace: JudgeContext['workspace'];
  readonly signal?: AbortSignal | undefined;
}

/** Adds the problems of rules, and if there are no errors, the violations in the manifests. */
export async function withPolicies(
  desired: Desired,
  { rules, diagnostics: own }: RuleSet,
  { project, workspace, signal }: Checking,
): Promise<Desired> {
  if (rules.length + own.length === 0) return desired;
  const { judge } = await import('./judge.ts');
  const { diagnosticOf, violationsOf } = await import('./violations.ts');
  const { resources, diagnostics, sources } = desired;
  const isValid = diagnostics.every(({ severity }) => severity !== 'error');
  const objections = isValid ? await judge(rules, resources, { workspace, signal }) : [];
  const found: readonly Diagnostic[] = violationsOf(objections, { root: project.root, sources }).map(diagnosticOf);
  return { ...desired, diagnostics: [...diagnostics, ...own, ...found].sort(compareDiagnostics) };
}

/** All problems of an invalid project that can be found, its rules included. */
export async function projectDiagnostics(
  error: InvalidProject,
  options: Parameters<typeof allDiagnostics>[1],
): Promise<readonly Diagnostic[]> {
  const all = await allDiagnostics(error, options);
  if (error.usable === undefined) return all;
  const { diagnostics } = await loadRules(error.usable);
  return [...all, ...diagnostics].sort(compareDiagnostics);
}
