import type { PlannedResource } from '../engine/plan/plan-document.ts';
import type { DocumentPath } from '../manifests/finding.ts';
import { TimeSlices } from '../project/time-slices.ts';
import type { Patterns } from './cel/values.ts';
import type { Rule, RuleProblem } from './rule.ts';
import { type JudgeContext, type Subject, valuesFor } from './rule-variables.ts';

export interface Objection {
  readonly rule: Rule;
  readonly subject: Subject;
  /** The field of the spec that decided, if known. */
  readonly path: DocumentPath | undefined;
  /** The reason why the rule has no result. */
  readonly problem?: RuleProblem;
}

export interface JudgedSubject extends Subject {
  /** Undefined without a plan. */
  readonly planned?: PlannedResource | undefined;
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
export async function judge(
  rules: readonly Rule[],
  subjects: readonly JudgedSubject[],
  { signal, ...setting }: JudgeContext & { readonly signal?: AbortSignal | undefined },
): Promise<readonly Objection[]> {
  const objections: Objection[] = [];
  const slices = new TimeSlices(signal);
  const patterns: Patterns = new Map();
  let left = MAX_IN_ALL + MAX_PER_SUBJECT * subjects.length;
  for (const { planned, ...subject } of subjects) {
    const concerned = rules.filter((rule) => concerns(rule, subject, setting));
    if (concerned.length === 0) continue;
    const values = valuesFor(subject, setting, planned);
    for (const rule of concerned) {
      if (slices.isOver()) await slices.next();
      const { holds, path, cost } = rule.condition.evaluate(values, Math.min(MAX_STEPS, left), patterns);
      left = Math.max(0, left - cost);
      if (holds === true) objections.push({ rule, subject, path });
      else if (typeof holds === 'object') objections.push({ rule, subject, path, problem: holds });
    }
  }
  return objections;
}

/** A rule for manifests does not check resources without one. */
function concerns({ on, kind }: Rule, subject: Subject, { plan }: JudgeContext): boolean {
  if (kind !== undefined && kind !== subject.kind) return false;
  return on === 'manifest' ? subject.source !== null : plan !== undefined;
}
