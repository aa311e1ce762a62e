import { hash } from 'node:crypto';
import path from 'node:path';
import type { Violation } from '../engine/plan/plan-document.ts';
import type { Finding } from '../manifests/finding.ts';
import { formatPath } from '../manifests/finding.ts';
import { findingIn, type SpecSources } from '../manifests/layers.ts';
import { placed } from '../manifests/positions.ts';
import type { Address } from '../manifests/resource.ts';
import type { Diagnostic } from '../problems/diagnostic.ts';
import type { Objection } from './judge.ts';
import type { Rule } from './rule.ts';

interface Places {
  readonly root: string;
  /** The places of the fields of each spec. Without them, the document is the place. */
  readonly sources: ReadonlyMap<Address, SpecSources> | undefined;
}

/** Violations with their lines in the manifests; for a rule without a result, also its own line. */
export function violationsOf(objections: readonly Objection[], { root, sources }: Places): readonly Violation[] {
  const inProject = (file: string): string => path.join(root, file);
  const places = placed(
    objections.map((objection) => manifestFinding(objection, sources)),
    inProject,
  );
  const paths = new Map(objections.map(({ rule }) => [rule.source.file, rule.source.path]));
  const reasons = placed(objections.map(ruleFinding), (file) => paths.get(file) ?? inProject(file));
  return objections.map(({ rule, subject, path: field, problem }, index): Violation => {
    const { file, line, column } = places[index] ?? { file: '' };
    const why = reasons[index];
    const place = why && [why.file, why.line, why.column].filter((part) => part !== undefined).join(':');
    return {
      rule: rule.name,
      policy_file: rule.source.file,
      id: idOf(rule, subject.address),
      severity: problem === undefined ? rule.severity : 'deny',
      address: subject.address,
      message: problem === undefined ? rule.message : `cannot be evaluated: ${problem.message} (${place})`,
      source:
        subject.source === null
          ? null
          : { file, line: line ?? subject.source.line, ...(column !== undefined && { column }) },
      ...(!rule.isWaivable && { waivable: false }),
      ...(field !== undefined && field.length > 0 && { path: formatPath(['spec', ...field]) }),
    };
  });
}

/** An id that changes with the definition of the rule. */
function idOf({ source, index }: Rule, address: Address): string {
  const { name, on, kind, deny, warn, message, waivable } = source.policies[index] ?? {};
  const definition = [source.of, name, on, kind, deny, warn, message, waivable, address];
  return hash('sha256', JSON.stringify(definition)).slice(0, 16);
}

/** The violation as a diagnostic of the manifests. */
export function diagnosticOf({ rule, severity, address, message, source, path: field }: Violation): Diagnostic {
  return {
    severity: severity === 'deny' ? 'error' : 'warning',
    code: 'policy',
    message: `${rule}: ${message.replace(/\.$/, '')} (${address})`,
    file: source?.file ?? '',
    ...(source?.line !== undefined && { line: source.line }),
    ...(source?.column !== undefined && { column: source.column }),
    ...(field !== undefined && { path: field }),
  };
}

function manifestFinding({ subject, path: field, rule }: Objection, sources: Places['sources']): Finding {
  const { file = '', line } = subject.source ?? {};
  const found = sources?.get(subject.address);
  const problem = { code: 'policy', message: rule.message };
  if (found === undefined || field === undefined || field.length === 0) {
    return { severity: 'error', ...problem, file, ...(line !== undefined && { line }) };
  }
  return findingIn(found, { ...problem, path: field, at: 'key' });
}

function ruleFinding({ rule, problem }: Objection): Finding {
  const { source, index } = rule;
  const about = { severity: 'error', code: 'policy', message: '', file: source.file } as const;
  if (problem === undefined) return about;
  const path = ['policies', index, rule.severity];
  return { ...about, place: { document: 0, path, at: 'value', offset: problem.offset } };
}
