import { kindNamed, lookups } from '../../kinds/index.ts';
import type { Lookup, LookupRecord } from '../../kinds/kind.ts';
import type { Address, Resource } from '../../manifests/resource.ts';
import { compareText } from '../../problems/compare-text.ts';
import type { NextStep } from '../../problems/next-step.ts';
import { didYouMean } from '../../problems/suggest.ts';
import { UserError } from '../../problems/user-error.ts';
import { hasReference, type Reference, references, withReferences } from '../../values/value.ts';
import { writes } from '../plan/plan-actions.ts';
import type { DecideInput, Decision, Facts } from './decision.ts';
import { leavesOf, ruleOf } from './field-rules.ts';
import type { Observed } from './observed.ts';

/** Resolves the references of a resource as far as possible. Returns its leaves, and the steps that unresolved references require. */
export function resolveReferences(
  resource: Resource,
  decisions: ReadonlyMap<Address, Decision>,
  input: DecideInput,
): Pick<Facts, 'leaves' | 'missing' | 'gone'> {
  const kind = kindNamed(resource.kind);
  const gone = new Set<Address>();
  if (!hasReference(resource.spec)) return { leaves: leavesOf(kind, resource.spec), missing: [], gone };
  const missing = new Map<string, NextStep>();
  const addWait = (address: Address, because: 'missing' | 'not_created' | 'not_in_run'): void => {
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
  const declaredLeaves = leavesOf(kind, resource.spec);
  const leaves = new Map(
    [...declaredLeaves].map(([path, value]) => [
      path,
      withReferences(
        value,
        (reference) =>
          lookUp(reference, input.observed.lookups) ??
          (input.bindings.has(reference.address)
            ? decisions.get(reference.address)?.id
            : // The target is not part of this run, so its id comes from the state.
              input.state.resources.get(reference.address)?.id),
      ),
    ]),
  );
  // The id of a missing record can be compared, but must not be written.
  const isMissing = (address: Address): boolean =>
    input.bindings.has(address)
      ? decisions.get(address)?.planned.missing === true
      : input.state.resources.get(address)?.missing_since !== undefined;
  for (const [path, value] of leaves) {
    const isManual = ruleOf(kind, path).manual === true;
    for (const { address } of references(declaredLeaves.get(path) ?? null)) {
      if (!isMissing(address)) continue;
      gone.add(address);
      if (!isManual) addWait(address, 'missing');
    }
    if (isManual) continue;
    for (const { address } of references(value)) {
      const action = decisions.get(address)?.planned.action;
      if (action !== undefined && !writes.has(action)) {
        addWait(address, 'not_created');
      } else if (input.declared.has(address) && !input.bindings.has(address)) {
        addWait(address, 'not_in_run');
      }
    }
  }
  const sorted = [...missing].sort(([a], [b]) => compareText(a, b)).map(([, step]) => step);
  return { leaves, missing: sorted, gone };
}

export function idsByName(records: readonly LookupRecord[]): ReadonlyMap<string, readonly string[]> {
  const byName = [...Map.groupBy(records, ({ name }) => name)];
  return new Map(
    byName.flatMap(([name, each]) => (name === undefined ? [] : [[name, each.map(({ id }) => id).sort()]])),
  );
}

/** Returns the record ids by name. Omits names that several records have. */
export function uniqueIds(records: readonly LookupRecord[]): ReadonlyMap<string, string> {
  return new Map([...idsByName(records)].flatMap(([name, [id, second]]) => (id && !second ? [[name, id]] : [])));
}

/** Returns the id of the record that a reference names; undefined if there is none. */
export function lookUp(reference: Reference, lookups: Observed['lookups']): string | undefined {
  return lookups.get(reference.kind)?.get(reference.target)?.[0];
}

/** @throws UserError if a reference names several records. */
export function refuseAmbiguousNames(resources: readonly Resource[], lookups: Observed['lookups']): void {
  const problems = new Set<string>();
  for (const { spec, source, address } of resources) {
    for (const reference of references(spec)) {
      const ids = lookups.get(reference.kind)?.get(reference.target) ?? [];
      if (ids.length < 2) continue;
      problems.add(
        `${source.file}:${source.line}  ${address} refers to ${reference.kind}/${reference.target}, but ${ids.length} records have that name: ${ids.join(', ')}`,
      );
    }
  }
  if (problems.size === 0) return;
  throw new UserError([...problems].sort().join('\n'), {
    hint: 'Rename all but one in the dashboard, or replace the reference with the id.',
  });
}

/** Returns the dashboard step that adds the missing target of a reference. */
function additionStep(
  lookup: Lookup,
  { kind, target }: Reference,
  lookups: Observed['lookups'],
): Extract<NextStep, { action: 'dashboard' }> {
  const ending = didYouMean(target, lookups.get(kind)?.keys() ?? []) || '.';
  return { action: 'dashboard', instruction: lookup.manualAddStep(target) + ending };
}
