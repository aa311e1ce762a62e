import type { Kind, ShownRecord } from '../../kinds/kind.ts';
import { type Address, kindOf, recordKey } from '../../manifests/resource.ts';
import type { State } from '../../state/state.ts';
import { type LeafPath, valueAt } from '../../values/path.ts';
import type { Observed } from '../observe/observed.ts';
import type { Binding } from './bind.ts';
import { type Deliverable, fieldsAsObserved } from './body.ts';

/** The records that the state or this run knows to be missing, by kind and id, each with its address. */
export function missingRecords({
  bindings,
  state,
  observed,
}: {
  readonly bindings: ReadonlyMap<Address, Binding>;
  readonly state: State;
  readonly observed: Observed;
}): ReadonlyMap<string, Address> {
  const missing = new Map<string, Address>();
  for (const { kind, id, address, reason } of state.orphans) {
    if (reason === 'gone') missing.set(recordKey(kind, id), address);
  }
  for (const { kind, id } of observed.returned) missing.delete(recordKey(kind, id));
  for (const [address, { id, missing_since }] of state.resources) {
    if (missing_since !== undefined) missing.set(recordKey(kindOf(address), id), address);
  }
  for (const [address, seen] of observed.records) {
    const entry = bindings.get(address)?.entry;
    if (entry === undefined) continue;
    const key = recordKey(kindOf(address), entry.id);
    if (seen.status === 'missing') missing.set(key, address);
    else if (seen.status === 'shown' && seen.record.id === entry.id) missing.delete(key);
  }
  return missing;
}

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
    const named = gone.map((id) => `${id} (${missing.get(recordKey(refersTo, id))})`);
    warnings.push(
      `${field} is resent without ${named.join(', ')}: missing from the platform. Ids of ${refersTo} records that are not managed are not checked.`,
    );
  }
  return { ids, warnings };
}
