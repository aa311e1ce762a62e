import type { Kind, ShownRecord } from '../../kinds/kind.ts';
import { type Address, namedId, recordKey } from '../../manifests/resource.ts';
import { type LeafPath, valueAt } from '../../values/path.ts';
import { type Deliverable, fieldsAsObserved } from './body.ts';

export interface LeftOut {
  /** By field: ids that an update does not send again. */
  readonly ids: Readonly<Record<LeafPath, readonly string[]>>;
  /** A sentence for each field. */
  readonly warnings: readonly string[];
}

/** What an update must not send again of fields that go out as observed: ids of missing records, which the platform refuses. */
export function leftOutOf(
  kind: Kind,
  facts: Deliverable & { readonly record: ShownRecord | undefined },
  missing: ReadonlyMap<string, Address>,
): LeftOut {
  const ids: Record<LeafPath, string[]> = {};
  const warnings: string[] = [];
  for (const field of fieldsAsObserved(kind, facts)) {
    const refersTo = kind.fields[field]?.refersTo;
    const shown = valueAt(facts.record, field);
    if (refersTo === undefined || !Array.isArray(shown)) continue;
    const gone = shown.filter((id) => typeof id === 'string' && missing.has(recordKey(refersTo, id)));
    if (gone.length === 0) continue;
    ids[field] = gone;
    const named = gone.map((id) => namedId(id, missing.get(recordKey(refersTo, id))));
    warnings.push(
      `${field} is resent without ${named.join(', ')}: missing from the platform. Ids of unmanaged ${refersTo} records are not checked.`,
    );
  }
  return { ids, warnings };
}
