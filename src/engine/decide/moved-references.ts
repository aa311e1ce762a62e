import type { FieldRule } from '../../manifests/kind-schema.ts';
import { type Address, idKey } from '../../manifests/resource.ts';
import type { Json } from '../../values/json.ts';
import { Reference, type Value } from '../../values/value.ts';
import { sameValue } from './compare.ts';

/** By kind and id: the address that a record has, or had. */
export type Owners = ReadonlyMap<string, Address>;

/**
 * What a field refers to as before while the record behind it is another one: the manifest did not change. Empty where it did, and
 * where nothing moved.
 */
export function movedReferences(
  rule: FieldRule,
  { desired, recorded }: { readonly desired: Value; readonly recorded: Json | undefined },
  owners: Owners,
): readonly Address[] {
  const { refersTo } = rule;
  if (refersTo === undefined || recorded === undefined) return [];
  const addressOf = (item: Value): Value =>
    item instanceof Reference
      ? item.address
      : typeof item === 'string'
        ? (owners.get(idKey(refersTo, item)) ?? item)
        : item;
  const named = (value: Value): Value => (Array.isArray(value) ? value.map(addressOf) : addressOf(value));
  if (!sameValue(rule, named(desired), named(recorded))) return [];
  const before = new Set(Array.isArray(recorded) ? recorded : [recorded]);
  const moved = (Array.isArray(desired) ? desired : [desired]).filter(
    (item) => item !== null && (typeof item !== 'string' || !before.has(item)),
  );
  return [...new Set(moved.map((item) => String(addressOf(item))))].sort();
}
