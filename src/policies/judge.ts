import { hash } from 'node:crypto';
import path from 'node:path';
import type { Violation } from '../engine/plan/plan-document.ts';
import { type DocumentPath, type Finding, formatPath } from '../manifests/finding.ts';
import { findingIn, type SpecSources } from '../manifests/layers.ts';
import { toDiagnostics } from '../manifests/positions.ts';
import type { Address } from '../manifests/resource.ts';
import type { Diagnostic } from '../problems/diagnostic.ts';
import { TimeSlices } from '../project/time-slices.ts';
import type { Patterns } from './cel/values.ts';
import type { Rule, RuleProblem } from './rule.ts';
import { type EvaluationContext, type Subject, valuesFor } from './rule-variables.ts';

/** A violation without its source positions. */
interface RawViolation {
  readonly rule: Rule;
  readonly subject: Subject;
  /** The path of the spec field that determined the result, if known. */
  readonly path: DocumentPath | undefined;
  /** The problem, if the rule cannot be evaluated. */
  readonly problem?: RuleProblem;
}

export interface EvaluationInput extends EvaluationContext {
  /** The project folder. */
  readonly root: string;
  /** The source positions of the spec fields. If undefined, violations have the position of the resource's document. */
  readonly sources: ReadonlyMap<Address, SpecSources> | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The maximum number of steps for one rule and one resource. A step takes about 100 ns. */
const MAX_STEPS = 1_000_000;
/** The maximum number of steps for a run is this number plus `MAX_STEPS_PER_SUBJECT` for each resource. */
const MAX_TOTAL_STEPS = 20_000_000;
const MAX_STEPS_PER_SUBJECT = 200_000;

/**
 * Returns the violations in the order of the resources. A rule that cannot be evaluated counts as violated. The function is deterministic.
 * @throws UserError if the signal aborts.
 */
export async function violationsIn(
  subjects: readonly Subject[],
  rules: readonly Rule[],
  input: EvaluationInput,
): Promise<readonly Violation[]> {
  const rawViolations: RawViolation[] = [];
  const slices = new TimeSlices(input.signal);
  const patterns: Patterns = new Map();
  let remainingSteps = MAX_TOTAL_STEPS + MAX_STEPS_PER_SUBJECT * subjects.length;
  for (const subject of subjects) {
    const applicable = rules.filter((rule) => appliesTo(rule, subject, input));
    if (applicable.length === 0) continue;
    const values = valuesFor(subject, input);
    for (const rule of applicable) {
      if (slices.isOver()) await slices.next();
      const { holds, path, cost } = rule.condition.evaluate(values, Math.min(MAX_STEPS, remainingSteps), patterns);
      remainingSteps = Math.max(0, remainingSteps - cost);
      if (holds === true) rawViolations.push({ rule, subject, path });
      else if (typeof holds === 'object') rawViolations.push({ rule, subject, path, problem: holds });
    }
  }
  return violationsOf(rawViolations, input);
}

/** Returns true if the rule applies to the resource. A rule for manifests does not apply to a resource without a manifest. */
function appliesTo({ on, kind }: Rule, subject: Subject, { plan }: EvaluationContext): boolean {
  if (kind !== undefined && kind !== subject.kind) return false;
  return on === 'manifest' ? subject.source !== null : plan !== undefined;
}

/** Adds source positions to violations. If a rule cannot be evaluated, the message also contains the position of the rule. */
function violationsOf(
  rawViolations: readonly RawViolation[],
  { root, sources }: EvaluationInput,
): readonly Violation[] {
  const inProject = (file: string): string => path.join(root, file);
  const findings = rawViolations.map((raw) => manifestFinding(raw, sources));
  const positions = toDiagnostics(findings, inProject);
  const paths = new Map(rawViolations.map(({ rule }) => [rule.source.file, rule.source.path]));
  const rulePositions = toDiagnostics(rawViolations.map(ruleFinding), (file) => paths.get(file) ?? inProject(file));
  return rawViolations.map(({ rule, subject, path: field, problem }, index): Violation => {
    const { file, line, column } = positions[index] ?? { file: '' };
    const rulePosition = rulePositions[index];
    const positionText =
      rulePosition &&
      [rulePosition.file, rulePosition.line, rulePosition.column].filter((part) => part !== undefined).join(':');
    return {
      rule: rule.name,
      policy_file: rule.source.file,
      id: idOf(rule, subject.address),
      severity: problem === undefined ? rule.severity : 'deny',
      address: subject.address,
      message: problem === undefined ? rule.message : `cannot be evaluated: ${problem.message} (${positionText})`,
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

function manifestFinding({ subject, path: field, rule }: RawViolation, sources: EvaluationInput['sources']): Finding {
  const { file = '', line } = subject.source ?? {};
  const specSources = sources?.get(subject.address);
  const problem = { code: 'policy', message: rule.message };
  if (specSources === undefined || field === undefined || field.length === 0) {
    return { severity: 'error', ...problem, file, ...(line !== undefined && { line }) };
  }
  return findingIn(specSources, { ...problem, path: field, at: 'key' });
}

function ruleFinding({ rule, problem }: RawViolation): Finding {
  const { source, index } = rule;
  const about = { severity: 'error', code: 'policy', message: '', file: source.file } as const;
  if (problem === undefined) return about;
  const path = ['policies', index, rule.severity];
  return { ...about, place: { document: 0, path, at: 'value', offset: problem.offset } };
}
