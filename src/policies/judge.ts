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
  /** The field of the spec that determined the result, if known. */
  readonly path: DocumentPath | undefined;
  /** The problem, if the rule has no result. */
  readonly problem?: RuleProblem;
}

export interface JudgeInput extends JudgeContext {
  /** The folder of the project. */
  readonly root: string;
  /** The positions of the fields of each spec. Without them, violations refer to the document. */
  readonly sources: ReadonlyMap<Address, SpecSources> | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The maximum number of steps for one rule and one resource. A step takes about 100 ns. */
const MAX_STEPS = 1_000_000;
/** The maximum number of steps for a run: this number, plus the next one for each resource. */
const MAX_TOTAL_STEPS = 20_000_000;
const MAX_STEPS_PER_SUBJECT = 200_000;

/**
 * Returns the violations in the order of the resources. A rule without a result counts as violated. The function is deterministic.
 * @throws UserError if the signal aborts.
 */
export async function violationsIn(
  subjects: readonly Subject[],
  rules: readonly Rule[],
  judging: JudgeInput,
): Promise<readonly Violation[]> {
  const objections: Objection[] = [];
  const slices = new TimeSlices(judging.signal);
  const patterns: Patterns = new Map();
  let remainingSteps = MAX_TOTAL_STEPS + MAX_STEPS_PER_SUBJECT * subjects.length;
  for (const subject of subjects) {
    const applicable = rules.filter((rule) => appliesTo(rule, subject, judging));
    if (applicable.length === 0) continue;
    const values = valuesFor(subject, judging);
    for (const rule of applicable) {
      if (slices.isOver()) await slices.next();
      const { holds, path, cost } = rule.condition.evaluate(values, Math.min(MAX_STEPS, remainingSteps), patterns);
      remainingSteps = Math.max(0, remainingSteps - cost);
      if (holds === true) objections.push({ rule, subject, path });
      else if (typeof holds === 'object') objections.push({ rule, subject, path, problem: holds });
    }
  }
  return violationsOf(objections, judging);
}

/** True if a rule checks a resource. A rule for manifests does not check resources without a manifest. */
function appliesTo({ on, kind }: Rule, subject: Subject, { plan }: JudgeContext): boolean {
  if (kind !== undefined && kind !== subject.kind) return false;
  return on === 'manifest' ? subject.source !== null : plan !== undefined;
}

/** Returns violations with their lines in the manifests. The message for a rule without a result has the line of the rule too. */
function violationsOf(objections: readonly Objection[], { root, sources }: JudgeInput): readonly Violation[] {
  const inProject = (file: string): string => path.join(root, file);
  const findings = objections.map((objection) => manifestFinding(objection, sources));
  const places = placed(findings, inProject);
  const paths = new Map(objections.map(({ rule }) => [rule.source.file, rule.source.path]));
  const rulePlaces = placed(objections.map(ruleFinding), (file) => paths.get(file) ?? inProject(file));
  return objections.map(({ rule, subject, path: field, problem }, index): Violation => {
    const { file, line, column } = places[index] ?? { file: '' };
    const rulePlace = rulePlaces[index];
    const position =
      rulePlace && [rulePlace.file, rulePlace.line, rulePlace.column].filter((part) => part !== undefined).join(':');
    return {
      rule: rule.name,
      policy_file: rule.source.file,
      id: idOf(rule, subject.address),
      severity: problem === undefined ? rule.severity : 'deny',
      address: subject.address,
      message: problem === undefined ? rule.message : `cannot be evaluated: ${problem.message} (${position})`,
      source:
        subject.source === null
          ? null
          : { file, line: line ?? subject.source.line, ...(column !== undefined && { column }) },
      ...(!rule.isWaivable && { waivable: false }),
      ...(field !== undefined && field.length > 0 && { path: formatPath(['spec', ...field]) }),
    };
  });
}

/** Returns an id that changes when the definition of the rule changes. */
function idOf({ source, index }: Rule, address: Address): string {
  const { name, on, kind, deny, warn, message, waivable } = source.policies[index] ?? {};
  const definition = [source.of, name, on, kind, deny, warn, message, waivable, address];
  return hash('sha256', JSON.stringify(definition)).slice(0, 16);
}

/** Converts a violation to a diagnostic of the manifests. */
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

function manifestFinding({ subject, path: field, rule }: Objection, sources: JudgeInput['sources']): Finding {
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
