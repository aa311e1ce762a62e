import type { Violation } from '../engine/plan/plan-document.ts';
import { didYouMean } from '../problems/suggest.ts';
import { usageError } from '../problems/user-error.ts';
import type { Rule } from './rule.ts';

/** @throws UserError for an unknown rule, or for a rule that cannot be waived. */
export function refuseInvalidWaivers(names: readonly string[], rules: readonly Rule[]): void {
  for (const name of names) {
    const named = rules.filter((rule) => rule.name === name);
    const unwaivable = named.find(({ isWaivable }) => !isWaivable);
    if (unwaivable !== undefined) {
      throw usageError(`--waive: ${name} cannot be waived (waivable: false in ${unwaivable.source.file})`);
    }
    if (named.length > 0) continue;
    const known = rules.map((rule) => rule.name);
    const list = known.length === 0 ? '; there are no policies' : `; policies: ${known.join(', ')}`;
    throw usageError(`--waive: unknown policy ${JSON.stringify(name)}${didYouMean(name, known) || list}`);
  }
}

interface Waived {
  readonly violations: readonly Violation[];
  /** The named rules that deny nothing. */
  readonly unneeded: readonly string[];
}

/** Marks denials by the named rules as waived. */
export function waived(
  violations: readonly Violation[],
  { names, because }: { readonly names: readonly string[]; readonly because: string },
): Waived {
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
