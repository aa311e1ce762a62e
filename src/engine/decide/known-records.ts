import { kindNamed } from '../../kinds/index.ts';
import type { ShownRecord } from '../../kinds/kind.ts';
import { type Address, idKey, kindOf } from '../../manifests/resource.ts';
import { compareText } from '../../problems/compare-text.ts';
import { managedRecords, type State } from '../../state/state.ts';
import type { Orphan } from '../../state/state-document.ts';
import { lazy } from '../../values/lazy.ts';
import type { Bound } from './bind.ts';
import { keyIn } from './field-rules.ts';
import type { Observed } from './observed.ts';

export interface NamedRecord {
  readonly kind: string;
  readonly id: string;
}

/** Facts about records by kind and id, from the state, the orphan list and the reads of this run. */
export interface KnownRecords {
  /** The addresses of managed records. */
  readonly holders: ReadonlyMap<string, Address>;
  /** The current or former addresses of records. */
  readonly owners: ReadonlyMap<string, Address>;
  /** Records that are missing from the platform, with their addresses, if known. */
  readonly missing: ReadonlyMap<string, Address | undefined>;
  /** Records that this run read. */
  readonly seen: ReadonlySet<string>;
  /** Orphans that a person handed over or keeps outside voxform. Only a person can import them again. */
  readonly closedOrphans: ReadonlyMap<string, Orphan>;
}

/** Sufficient for a resource without references whose record is in the state. */
export const NOTHING_KNOWN: KnownRecords = {
  holders: new Map(),
  owners: new Map(),
  missing: new Map(),
  seen: new Set(),
  closedOrphans: new Map(),
};

interface RecordSources extends Pick<Bound, 'bindings'> {
  readonly state: State;
  readonly observed: Observed;
}

/** Builds most indexes on first use, because most decisions do not need them. */
export function knownRecords(input: RecordSources): KnownRecords {
  const { state, bindings } = input;
  const holders = managedRecords(state);
  const owners = lazy(() => {
    const found = new Map(state.orphans.map(({ kind, id, address }) => [idKey(kind, id), address]));
    for (const [key, address] of holders) found.set(key, address);
    for (const [address, { id }] of bindings) {
      if (id !== undefined) found.set(idKey(kindOf(address), id), address);
    }
    return found;
  });
  const missing = lazy(() => missingRecords(input, owners()));
  const seen = lazy(() => seenRecords(input.observed));
  const closed = state.orphans.filter(({ closed }) => closed !== undefined && closed.because !== 'deleted');
  return {
    holders,
    get owners() {
      return owners();
    },
    get missing() {
      return missing();
    },
    get seen() {
      return seen();
    },
    closedOrphans: new Map(closed.map((orphan) => [idKey(orphan.kind, orphan.id), orphan])),
  };
}

/** Returns the records that are missing in this run. Without a refresh, only the state is used. */
function missingRecords(
  { bindings, state, observed }: RecordSources,
  owners: KnownRecords['owners'],
): KnownRecords['missing'] {
  const missing = new Map<string, Address | undefined>();
  for (const { kind, id, address, reason } of state.orphans) {
    if (reason === 'gone') missing.set(idKey(kind, id), address);
  }
  for (const { kind, id } of observed.returned) missing.delete(idKey(kind, id));
  for (const [address, observation] of observed.records) {
    const entry = bindings.get(address)?.entry;
    if (entry === undefined) continue;
    const key = idKey(kindOf(address), entry.id);
    const isRemembered = observation.status === 'remembered' && entry.missing_since !== undefined;
    if (observation.status === 'missing' || isRemembered) missing.set(key, address);
    else if (observation.status === 'shown' && observation.record.id === entry.id) missing.delete(key);
  }
  for (const key of observed.missing ?? []) missing.set(key, owners.get(key));
  return missing;
}

function seenRecords({ records, lists }: Observed): ReadonlySet<string> {
  const seen = new Set<string>();
  for (const [address, each] of records) {
    if (each.status === 'shown') seen.add(idKey(kindOf(address), each.record.id));
  }
  for (const [kind, listed] of lists) for (const { id } of listed) seen.add(idKey(kind, id));
  return seen;
}

/** Returns the address of the unknown create for each kind and natural key. If several exist, returns the alphabetically last one. */
export function unknownCreatesByKey({ state }: Pick<RecordSources, 'state'>): ReadonlyMap<string, Address> {
  const sorted = [...state.pending].sort(([a], [b]) => compareText(a, b));
  return new Map(
    sorted.flatMap(([address, { natural_key: key }]) =>
      key === undefined ? [] : [[keyIn(kindOf(address), key), address]],
    ),
  );
}

/** Returns a function that finds the listed records of a kind with a natural key. */
export function sameKeyIn({ lists }: Observed): (kind: string, key: string | undefined) => readonly ShownRecord[] {
  const indexes = new Map(
    [...lists].map(([name, records]) => [name, Map.groupBy(records, (each) => kindNamed(name).naturalKeyOf?.(each))]),
  );
  return (kind, key) => (key === undefined ? [] : (indexes.get(kind)?.get(key) ?? []));
}
