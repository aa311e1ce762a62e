import { kinds } from '../kinds/index.ts';
import { type Finding, findingOf } from '../manifests/finding.ts';
import { problemsIn } from '../manifests/issue-messages.ts';
import { onlyDocument } from '../manifests/parse-documents.ts';
import { locate } from '../manifests/positions.ts';
import { readTextFile } from '../manifests/read-file.ts';
import { compareDiagnostics } from '../problems/diagnostic.ts';
import { suggestion } from '../problems/suggest.ts';
import { UserError } from '../problems/user-error.ts';
import { InvalidProject } from '../project/invalid-project.ts';
import { type Policy, policyFileSchema, usablePolicies } from '../project/policy-schema.ts';
import { isObject } from '../values/json.ts';
import { readCondition } from './cel/compile.ts';
import type { PolicyFile, PolicySource, Rule, RuleSet } from './rule.ts';
import { variablesOf } from './rule-variables.ts';

/** Caches the rule set of each source, because all workspaces of a fleet share the fleet's sources. */
const ruleSets = new WeakMap<PolicySource, RuleSet>();

/** Returns the valid rules of all sources, and the problems of the invalid rules. */
export function readRules(sources: readonly PolicySource[]): RuleSet {
  const sets = sources.map((source) => {
    const ruleSet = ruleSets.get(source) ?? rulesOf(source);
    ruleSets.set(source, ruleSet);
    return ruleSet;
  });
  return { rules: sets.flatMap(({ rules }) => rules), diagnostics: sets.flatMap(({ diagnostics }) => diagnostics) };
}

function rulesOf(source: PolicySource): RuleSet {
  const rules: Rule[] = [];
  const findings: Finding[] = [];
  for (const [index, policy] of source.policies.entries()) {
    const rule = readRule(policy, { source, index });
    if ('findings' in rule) findings.push(...rule.findings);
    else rules.push(rule);
  }
  return { rules, diagnostics: locate(findings, () => source.path) };
}

/** The maximum length of a condition that is shown because the rule has no message. */
const MAX_MESSAGE_LENGTH = 100;

function readRule(
  { name, on = 'manifest', kind, deny, warn, message, waivable = true }: Policy,
  { source, index }: Pick<Rule, 'source' | 'index'>,
): Rule | { readonly findings: readonly Finding[] } {
  const severity = deny === undefined ? 'warn' : 'deny';
  const text = deny ?? warn ?? '';
  const at = ['policies', index];
  const isKnownKind = kind === undefined || kinds.has(kind);
  const findings: Finding[] = [];
  if (!isKnownKind) {
    const { text, fix } = suggestion(kind, kinds.keys());
    const near = text || `; kinds: ${[...kinds.keys()].join(', ')}`;
    const message = `${name}: unknown kind ${JSON.stringify(kind)}${near}`;
    findings.push(findingOf({ code: 'unknown-kind', message, path: [...at, 'kind'], at: 'value', fix }, source.file));
  }
  const readAs = (on: Rule['on']) => readCondition(text, variablesOf(on, isKnownKind ? kind : undefined));
  const condition = readAs(on);
  if ('problems' in condition) {
    const needsPlan = on === 'manifest' && !('problems' in readAs('plan'));
    for (const { message: problem, offset } of condition.problems) {
      findings.push({
        severity: 'error',
        code: 'bad-policy',
        message: `${name}: ${needsPlan ? problem.replace(/;.*/s, '; only rules with on: plan can use it') : problem}`,
        file: source.file,
        place: { document: 0, path: [...at, severity], at: 'value', offset },
      });
    }
  }
  if ('problems' in condition || findings.length > 0) return { findings };
  const shortText = text.length > MAX_MESSAGE_LENGTH ? `${text.slice(0, MAX_MESSAGE_LENGTH)}…` : text;
  return {
    name,
    on,
    kind,
    severity,
    message: message ?? `${severity}: ${shortText}`,
    isWaivable: waivable,
    source,
    index,
    text,
    condition,
  };
}

/**
 * Reads a `--policy` file.
 * @throws UserError if the file cannot be read, or InvalidProject with all problems of the file.
 */
export function readPolicyFile({ path: absolute, file }: PolicyFile): PolicySource {
  const content = readTextFile(absolute);
  if ('problem' in content) {
    throw new UserError(`--policy ${file}: ${content.problem.message}`, {
      hint: 'Relative paths are resolved from the current folder.',
    });
  }
  const { value, findings } = onlyDocument(content.text, { file, name: 'a policy file' });
  const parsed = value === undefined ? undefined : policyFileSchema().safeParse(value);
  if (parsed?.success && findings.length === 0) {
    return { of: 'file', file, path: absolute, policies: parsed.data.policies };
  }
  const checked = { schema: policyFileSchema(), value, name: 'the policy file' };
  const problems = problemsIn(parsed?.error, checked);
  const all = [...findings, ...problems.map((problem) => findingOf(problem, file))];
  const policies = usablePolicies(isObject(value) ? value.policies : undefined);
  const { diagnostics } = readRules([{ of: 'file', file, path: absolute, policies }]);
  throw new InvalidProject([...locate(all, () => absolute), ...diagnostics].sort(compareDiagnostics));
}
