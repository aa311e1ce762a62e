import type { Kind } from '../../kinds/kind.ts';
import { type Address, idKey, kindOf } from '../../manifests/resource.ts';
import type { State } from '../../state/state.ts';
import type { Json } from '../../values/json.ts';
import type { PlannedChange } from '../plan/plan-document.ts';
import { ruleOf } from './field-rules.ts';
import type { Observed } from './observed.ts';

/** The name of each record, by kind and id: an address, prefixed with `former` if the address now has a different record. */
type Names = ReadonlyMap<string, string>;

/** Collects names from the state, from the bindings of this run, and from lookups. */
export function namesOf(
  { resources, orphans }: Pick<State, 'resources' | 'orphans'>,
  bindings: ReadonlyMap<Address, { readonly id: string | undefined }>,
  lookups: Observed['lookups'],
): Names {
  const names = new Map<string, string>();
  for (const [kind, byName] of lookups) {
    for (const [name, ids] of byName) for (const id of ids) names.set(idKey(kind, id), `${kind}/${name}`);
  }
  for (const { kind, id, address } of orphans) names.set(idKey(kind, id), `former ${address}`);
  for (const [address, { id }] of [...resources, ...bindings]) {
    if (id !== undefined) names.set(idKey(kindOf(address), id), address);
  }
  return names;
}

/** Adds to each change the names of the records whose ids are in it. */
export function withNames(
  changes: readonly PlannedChange[],
  kind: Kind | undefined,
  loadNames: () => Names,
): readonly PlannedChange[] {
  if (kind === undefined || changes.length === 0) return changes;
  const names = loadNames();
  return changes.map((change) => {
    const { refersTo } = ruleOf(kind, change.path);
    const ids = refersTo === undefined ? [] : [...idsIn(change.before), ...idsIn(change.after)];
    const named = [...new Set(ids)].flatMap((id) => {
      const name = names.get(idKey(refersTo ?? '', id));
      return name === undefined ? [] : [[id, name] as const];
    });
    return named.length === 0 ? change : { ...change, names: Object.fromEntries(named) };
  });
}

function idsIn(value: PlannedChange['after']): string[] {
  return (Array.isArray(value) ? value : [value]).filter((item: Json | undefined) => typeof item === 'string');
}
