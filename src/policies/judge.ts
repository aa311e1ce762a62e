import { hash } from 'node:crypto';
import path from 'node:path';
import type { Violation } from '../engine/plan/plan-document.ts';
import { type DocumentPath, type Finding, formatPath } from '../manifests/finding.ts';
import { findingIn, type SpecSources } from '../manifests/layers.ts';
import { placed } from '../manifests/positions.ts';
import type { Address } from '../manifests/resource.ts';
import type { Diagnostic } from '../problems/diagnostic.ts';
import { TimeSlices } from '../project/time-slices.ts';
import type { Patterns } from './cel/values.ts';
import type { Rule, RuleProblem } from './rule.ts';
import { type JudgeContext, type Subject, valuesFor } from './rule-variables.ts';

interface Objection {
  readonly rule: Rule;
  readonly subject: Subject;
  /** The field of the spec that decided, if known. */
  readonly path: DocumentPath | undefined;
  /** The reason why the rule has no result. */
  readonly problem?: RuleProblem;
}

export interface Judging extends JudgeContext {
  /** The folder of the project. */
  readonly root: string;
  /** The places of the fields of each spec. Without them, the document is the place. */
  readonly sources: ReadonlyMap<Address, SpecSources> | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The limit for one rule and one resource. A step takes about 100 ns. */
const MAX_STEPS = 1_000_000;
/** The limit for a run, plus an amount for each resource. */
const MAX_IN_ALL = 20_000_000;
const MAX_PER_SUBJECT = 200_000;

/**
 * Violations, in the order of the resources. A rule without a result is violated. The same input gives the same result.
 * @throws UserError if the signal aborts.
 */
export async function violationsIn(
  subjects: readonly Subject[],
  rules: readonly Rule[],
  judging: Judging,
): Promise<readonly Violation[]> {
  const objections: Objection[] = [];
  const slices = new TimeSlices(judging.signal);
  const patterns: Patterns = new Map();
  let left = MAX_IN_ALL + MAX_PER_SUBJECT * subjects.length;
  for (const subject of subjects) {
    const concerned = rules.filter((rule) => concerns(rule, subject, judging));
    if (concerned.length === 0) continue;
    const values = valuesFor(subject, judging);
    for (const rule of concerned) {
      if (slices.isOver()) await slices.next();
      const { holds, path, cost } = rule.condition.evaluate(values, Math.min(MAX_STEPS, left), patterns);
      left = Math.max(0, left - cost);
      if (holds === true) objections.push({ rule, subject, path });
      else if (typeof holds === 'object') objections.push({ rule, subject, path, problem: holds });
    }
  }
  return violationsOf(objections, judging);
}

/** A rule for manifests does not check resources without one. */
function concerns({ on, kind }: Rule, subject: Subject, { plan }: JudgeContext): boolean {
  if (kind !== undefined && kind !== subject.kind) return false;
  return on === 'manifest' ? subject.source !== null : plan !== undefined;
}

/** Violations with their lines in the manifests; for a rule without a result, also its own line. */
function violationsOf(objections: readonly Objection[], { root, sources }: Judging): readonly Violation[] {
  const inProject = (file: string): string => path.join(root, file);
  const findings = objections.map((objection) => manifestFinding(objection, sources));
  const places = placed(findings, inProject);
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

function manifestFinding({ subject, path: field, rule }: Objection, sources: Judging['sources']): Finding {
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
