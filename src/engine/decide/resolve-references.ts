import { kindNamed, lookups } from '../../kinds/index.ts';
import type { Address, Resource } from '../../manifests/resource.ts';
import { compareText } from '../../problems/compare-text.ts';
import type { NextStep } from '../../problems/next-step.ts';
import { hasReference, references, withReferences } from '../../values/value.ts';
import { writes } from '../plan/plan-actions.ts';
import type { Deciding, Decision, Facts } from './decision.ts';
import { leavesOf, ruleOf } from './field-rules.ts';
import { additionStep, lookUp } from './lookups.ts';

/** The leaves of a resource with references resolved as far as possible, and what it waits for. */
export function resolveReferences(
  resource: Resource,
  decisions: ReadonlyMap<Address, Decision>,
  input: Deciding,
): Pick<Facts, 'leaves' | 'missing' | 'gone'> {
  const kind = kindNamed(resource.kind);
  const gone = new Set<Address>();
  if (!hasReference(resource.spec)) return { leaves: leavesOf(kind, resource.spec), missing: [], gone };
  const missing = new Map<string, NextStep>();
  const wait = (address: Address, because: 'missing' | 'not_created' | 'not_in_run'): void => {
    missing.set(`wait_for ${address} ${because}`, { action: 'wait_for', address, because });
  };
  for (const reference of references(resource.spec)) {
    const lookup = lookups.get(reference.kind);
    if (lookup === undefined) continue;
    if (lookUp(reference, input.observed.lookups) === undefined) {
      const step = additionStep(lookup, reference, input.observed.lookups);
      missing.set(`dashboard ${step.instruction}`, step);
    }
  }
  const named = leavesOf(kind, resource.spec);
  const leaves = new Map(
    [...named].map(([path, value]) => [
      path,
      withReferences(
        value,
        (reference) =>
          lookUp(reference, input.observed.lookups) ??
          (input.bindings.has(reference.address)
            ? decisions.get(reference.address)?.id
            : // Left out of this run: what is remembered of it is all there is.
              input.state.resources.get(reference.address)?.id),
      ),
    ]),
  );
  // The id is known and can be compared, but must not be written.
  const isMissing = (address: Address): boolean =>
    input.bindings.has(address)
      ? decisions.get(address)?.planned.missing === true
      : input.state.resources.get(address)?.missing_since !== undefined;
  for (const [path, value] of leaves) {
    const isManual = ruleOf(kind, path).manual === true;
    for (const { address } of references(named.get(path) ?? null)) {
      if (!isMissing(address)) continue;
      gone.add(address);
      if (!isManual) wait(address, 'missing');
    }
    if (isManual) continue;
    for (const { address } of references(value)) {
      const action = decisions.get(address)?.planned.action;
      if (action !== undefined && !writes.has(action)) {
        wait(address, 'not_created');
      } else if (input.declared.has(address) && !input.bindings.has(address)) {
        wait(address, 'not_in_run');
      }
    }
  }
  const sorted = [...missing].sort(([a], [b]) => compareText(a, b)).map(([, step]) => step);
  return { leaves, missing: sorted, gone };
}
