import type { Lookup, LookupRecord } from '../../kinds/kind.ts';
import type { Resource } from '../../manifests/resource.ts';
import type { NextStep } from '../../problems/next-step.ts';
import { didYouMean } from '../../problems/suggest.ts';
import { UserError } from '../../problems/user-error.ts';
import { type Reference, references } from '../../values/value.ts';
import type { Observed } from './observed.ts';

export function idsByName(records: readonly LookupRecord[]): ReadonlyMap<string, readonly string[]> {
  const byName = [...Map.groupBy(records, ({ name }) => name)];
  return new Map(
    byName.flatMap(([name, each]) => (name === undefined ? [] : [[name, each.map(({ id }) => id).sort()]])),
  );
}

/** The id of each name that only one record has. */
export function uniqueIds(records: readonly LookupRecord[]): ReadonlyMap<string, string> {
  return new Map(
    [...idsByName(records)].flatMap(([name, [id, second]]) => (id && !second ? [[name, id]] : [])),
  );
}

/** The id of the record that a reference names; undefined if none or several have the name. */
export function lookUp(reference: Reference, lookups: Observed['lookups']): string | undefined {
  return lookups.get(reference.kind)?.get(reference.target)?.[0];
}

/** @throws UserError if a reference names several records. */
export function refuseDoubledNames(resources: readonly Resource[], lookups: Observed['lookups']): void {
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

/** The manual step for a name that no record has. */
export function additionStep(
  lookup: Lookup,
  { kind, target }: Reference,
  lookups: Observed['lookups'],
): Extract<NextStep, { action: 'dashboard' }> {
  const end = didYouMean(target, lookups.get(kind)?.keys() ?? []) || '.';
  return { action: 'dashboard', instruction: lookup.manualAddStep(target) + end };
}
