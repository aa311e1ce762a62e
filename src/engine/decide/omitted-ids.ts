import type { Kind, ShownRecord } from '../../kinds/kind.ts';
import { idKey, namedId } from '../../manifests/resource.ts';
import { type LeafPath, valueAt } from '../../values/path.ts';
import type { KnownRecords } from './known-records.ts';
import { type Deliverable, fieldsAsObserved } from './resent.ts';

interface OmittedIds {
  /** By field: ids that an update does not send again. */
  readonly ids: Readonly<Record<LeafPath, readonly string[]>>;
  /** A sentence for each field. */
  readonly warnings: readonly string[];
  /** Records that the update would refer to and that this run did not read. */
  readonly unchecked: readonly NamedRecord[];
}

export interface NamedRecord {
  readonly kind: string;
  readonly id: string;
}

/** Ids of missing records in fields that are resent as observed: the platform would refuse them. */
export function omittedIdsOf(
  kind: Kind,
  facts: Deliverable & { readonly record: ShownRecord | undefined },
  { missing, seen }: Pick<KnownRecords, 'missing' | 'seen'>,
): OmittedIds {
  const ids: Record<LeafPath, string[]> = {};
  const warnings: string[] = [];
  const unchecked: NamedRecord[] = [];
  for (const field of fieldsAsObserved(kind, facts)) {
    const refersTo = kind.fields[field]?.refersTo;
    const shown = valueAt(facts.record, field);
    if (refersTo === undefined || !Array.isArray(shown)) continue;
    const named = shown.filter((id) => typeof id === 'string');
    const gone = named.filter((id) => missing.has(idKey(refersTo, id)));
    const open = named.filter((id) => !gone.includes(id) && !seen.has(idKey(refersTo, id)));
    unchecked.push(...open.map((id) => ({ kind: refersTo, id })));
    if (gone.length === 0) continue;
    ids[field] = gone;
    const names = gone.map((id) => namedId(id, missing.get(idKey(refersTo, id))));
    warnings.push(`${field} is resent without ${names.join(', ')}: missing from the platform`);
  }
  return { ids, warnings, unchecked };
}
