import type { Violation } from '../engine/plan/plan-document.ts';
import { didYouMean } from '../problems/suggest.ts';
import { usageError } from '../problems/user-error.ts';
import type { Rule } from './rule.ts';

/** @throws UserError if a rule is unknown or cannot be waived. */
export function refuseInvalidWaivers(names: readonly string[], rules: readonly Rule[]): void {
  for (const name of names) {
    const rulesWithName = rules.filter((rule) => rule.name === name);
    const unwaivable = rulesWithName.find(({ isWaivable }) => !isWaivable);
    if (unwaivable !== undefined) {
      throw usageError(`--waive: ${name} cannot be waived (waivable: false in ${unwaivable.source.file})`);
    }
    if (rulesWithName.length > 0) continue;
    const ruleNames = rules.map((rule) => rule.name);
    const list = ruleNames.length === 0 ? '; there are no policies' : `; policies: ${ruleNames.join(', ')}`;
    throw usageError(`--waive: unknown policy ${JSON.stringify(name)}${didYouMean(name, ruleNames) || list}`);
  }
}

interface WaiverResult {
  readonly violations: readonly Violation[];
  /** The rules in `names` that deny nothing. */
  readonly unneeded: readonly string[];
}

/** Marks the denials of the rules in `names` as waived. */
export function waived(violations: readonly Violation[], names: readonly string[], because: string): WaiverResult {
  const isWaived = ({ rule, severity }: Violation) => severity === 'deny' && names.includes(rule);
  return {
    violations: violations.map((each) => (isWaived(each) ? { ...each, waived: because } : each)),
    unneeded: names.filter((name) => !violations.some((each) => isWaived(each) && each.rule === name)),
  };
}

/** Returns the violations that stop an apply. */
export function denials(violations: readonly Violation[] = []): readonly Violation[] {
  return violations.filter((each) => each.severity === 'deny' && each.waived === undefined);
}
