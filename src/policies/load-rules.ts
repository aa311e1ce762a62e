import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Policy } from '../project/policy-schema.ts';
import type { ProjectConfig } from '../project/project.ts';
import type { ExternalPolicies, PolicySource, RuleSet } from './rule.ts';

export const NO_RULES: RuleSet = { rules: [], diagnostics: [] };

/**
 * All checked rules of a project. Rules with the same name do not replace each other. Without rules, the code that reads them is not
 * loaded.
 * @throws UserError, InvalidProject for an invalid file of `--policy`.
 */
export async function loadRules(
  project: ProjectConfig,
  { files, fleet, base }: ExternalPolicies = { files: [] },
): Promise<RuleSet> {
  const { root, file = '', policies } = project;
  const own: PolicySource = { of: 'project', file, path: path.join(root, file), policies };
  const named = files.length === 0 ? [] : await readFiles(files);
  const added = base && { ...base, policies: base.policies.filter((each) => !has(policies, each)) };
  return checkedRules([own, ...named, fleet, added].filter((each) => each !== undefined));
}

function has(policies: readonly Policy[], policy: Policy): boolean {
  return policies.some((each) => isDeepStrictEqual(each, policy));
}

async function readFiles(files: ExternalPolicies['files']): Promise<readonly PolicySource[]> {
  const { readPolicyFile } = await import('./read-policy-file.ts');
  return files.map(readPolicyFile);
}

export async function checkedRules(sources: readonly PolicySource[]): Promise<RuleSet> {
  if (sources.every(({ policies }) => policies.length === 0)) return NO_RULES;
  const { readRules } = await import('./read-rules.ts');
  return readRules(sources);
}
