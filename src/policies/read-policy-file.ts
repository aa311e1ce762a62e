import { findingOf } from '../manifests/finding.ts';
import { problemsIn } from '../manifests/issue-messages.ts';
import { onlyDocument } from '../manifests/parse-documents.ts';
import { locate } from '../manifests/positions.ts';
import { readTextFile } from '../manifests/read-file.ts';
import { compareDiagnostics } from '../problems/diagnostic.ts';
import { UserError } from '../problems/user-error.ts';
import { InvalidProject } from '../project/invalid-project.ts';
import { policyFileSchema, usablePolicies } from '../project/policy-schema.ts';
import { isObject } from '../values/json.ts';
import { readRules } from './read-rules.ts';
import type { PolicyFile, PolicySource } from './rule.ts';

/** @throws UserError, InvalidProject with all problems of the file. */
export function readPolicyFile({ path: absolute, file }: PolicyFile): PolicySource {
  const read = readTextFile(absolute);
  if ('problem' in read) {
    throw new UserError(`--policy ${file}: ${read.problem.message}`, {
      hint: 'A relative path starts at the current folder.',
    });
  }
  const { value, findings } = onlyDocument(read.text, { file, name: 'a file of policies' });
  const parsed = value === undefined ? undefined : policyFileSchema().safeParse(value);
  if (parsed?.success && findings.length === 0) {
    return { of: 'file', file, path: absolute, policies: parsed.data.policies };
  }
  const checked = { schema: policyFileSchema(), value, name: 'the file of policies' };
  const problems = problemsIn(parsed?.error, checked);
  const all = [...findings, ...problems.map((problem) => findingOf(problem, file))];
  const policies = usablePolicies(isObject(value) ? value.policies : undefined);
  const { diagnostics } = readRules([{ of: 'file', file, path: absolute, policies }]);
  throw new InvalidProject([...locate(all, () => absolute), ...diagnostics].sort(compareDiagnostics));
}
