import { compareDiagnostics, type Diagnostic } from '../problems/diagnostic.ts';
import type { Desired, ProjectConfig } from '../project/project.ts';
import type { RuleSet } from './rule.ts';
import type { JudgeSetting } from './rule-variables.ts';

interface Checking {
  readonly project: Pick<ProjectConfig, 'root'>;
  readonly workspace: JudgeSetting['workspace'];
  readonly signal?: AbortSignal | undefined;
}

/** Everything that is wrong, with the rules and what they object to in the manifests; the latter where nothing else is. */
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
  const found: readonly Diagnostic[] = violationsOf(objections, { root: project.root, sources }).map(
    diagnosticOf,
  );
  return { ...desired, diagnostics: [...diagnostics, ...own, ...found].sort(compareDiagnostics) };
}
