import path from 'node:path';
import type { ProjectConfig } from '../project/project.ts';
import type { OtherPolicies, PolicySource } from './policy-source.ts';
import type { RuleSet } from './rule.ts';

export const NO_RULES: RuleSet = { rules: [], diagnostics: [] };

/**
 * All rules that hold for a project, checked against what they can see. Those of one name stand beside each other. What it takes to read
 * them is loaded only where there are some.
 * @throws UserError, InvalidProject for a file that holds none.
 */
export async function loadRules(
  project: ProjectConfig,
  { files, fleet }: OtherPolicies = { files: [] },
): Promise<RuleSet> {
  const { root, file = '', policies } = project;
  const own: PolicySource = { of: 'project', file, path: path.join(root, file), policies };
  const named = files.length === 0 ? [] : await readFiles(files);
  return checkedRules([own, ...named, ...(fleet === undefined ? [] : [fleet])]);
}

async function readFiles(files: OtherPolicies['files']): Promise<readonly PolicySource[]> {
  const { readPolicyFile } = await import('./read-policy-file.ts');
  return files.map(readPolicyFile);
}

export async function checkedRules(sources: readonly PolicySource[]): Promise<RuleSet> {
  if (sources.every(({ policies }) => policies.length === 0)) return NO_RULES;
  const { readRules } = await import('./read-rules.ts');
  return readRules(sources);
}
