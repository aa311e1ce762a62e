import { kindNamed } from '../../engine/kind-named.ts';
import type { Kind } from '../../kinds/kind.ts';
import { type Address, kindOf, type Resource, recordKey } from '../../manifests/resource.ts';
import type { Reference } from '../../values/value.ts';
import type { Discovery } from '../discover.ts';
import { type Evidence, evidenceFor } from './evidence.ts';

/** A record that may be the one of a manifest. */
export interface Candidate extends Evidence {
  readonly id: string;
  /** Nothing that is shown speaks against it. */
  readonly isExact: boolean;
  /** Clauses that say what leads to it beside its fields. */
  readonly clauses: readonly string[];
}

/** What was found for one manifest. */
export interface Match {
  readonly resource: Resource;
  /** The likeliest first. */
  readonly candidates: readonly Candidate[];
  /** The one candidate that is exact, and exact for no other manifest; undefined where a person must decide. */
  readonly certain: Candidate | undefined;
}

export interface Matching {
  readonly kinds: ReadonlyMap<string, Kind>;
  /** The manifests that lack a record. */
  readonly wanted: readonly Resource[];
  readonly discovery: Discovery;
  /** Ids that are managed already, by kind. */
  readonly held: ReadonlyMap<string, ReadonlySet<string>>;
  /** What the remains of a state say each address was. */
  readonly remembered: ReadonlyMap<Address, Remembered>;
}

export interface Remembered {
  readonly id: string;
  /** Where it says so. */
  readonly source: string;
}

const MOST_OFFERED = 3;

/** Finds the records of manifests, as far as what is shown tells. */
export function matchesFor(input: Matching): Match[] {
  const idOf = lookupIds(input);
  const offers = new Map(
    input.wanted.map((resource) => [resource.address, candidatesFor(resource, input, idOf)]),
  );
  const certain = certainOf(input, offers);
  const settled = new Map([...certain].map(([address, { id }]) => [recordKey(kindOf(address), id), address]));
  return input.wanted.map((resource) => {
    const { address, kind } = resource;
    const own = certain.get(address);
    const open = (offers.get(address) ?? []).filter(
      ({ id }) => id !== own?.id && !settled.has(recordKey(kind, id)),
    );
    const candidates = own === undefined ? open : [own, ...open];
    return { resource, candidates: candidates.slice(0, MOST_OFFERED), certain: own };
  });
}

type IdOf = (reference: Reference) => string | undefined;

/** Every candidate that more speaks for than against, the likeliest first. */
function candidatesFor(resource: Resource, input: Matching, idOf: IdOf): Candidate[] {
  const kind = kindNamed(input.kinds, resource.kind);
  const held = input.held.get(kind.name);
  const claimed = claimedIds(input.wanted, resource);
  const pool = (input.discovery.records.get(kind.name) ?? []).filter(
    ({ record }) => !held?.has(record.id) && !claimed.has(record.id),
  );
  const key = kind.naturalKey?.(resource.spec)?.key;
  const remembered = input.remembered.get(resource.address);
  const named = resource.id;
  const compare = evidenceFor(kind, resource, idOf);
  const candidates: (Candidate & { readonly isRemembered: boolean })[] = [];
  for (const found of pool) {
    const { id } = found.record;
    if (named !== undefined && id !== named) continue;
    const hasKey = key !== undefined && kind.recordKey?.(found.record) === key;
    if (named === undefined && key !== undefined && !hasKey) continue;
    const evidence = compare(found);
    const isRemembered = remembered?.id === id;
    const isNamed = named !== undefined || hasKey;
    if (!isNamed && !isRemembered && evidence.agrees.length <= evidence.differs.length) continue;
    candidates.push({
      id,
      ...evidence,
      isExact: isNamed || (evidence.agrees.length > 0 && evidence.differs.length === 0),
      clauses: [
        ...(named !== undefined ? ['metadata.id names it'] : []),
        ...(hasKey ? [`it has the ${kind.naturalKey?.(resource.spec)?.field} of the manifest`] : []),
        ...(isRemembered ? [`${remembered.source} has it under this address`] : []),
        ...found.heardOf,
      ],
      isRemembered,
    });
  }
  return candidates
    .sort(
      (a, b) =>
        Number(b.isRemembered) - Number(a.isRemembered) ||
        Number(b.isExact) - Number(a.isExact) ||
        score(b) - score(a) ||
        (a.id < b.id ? -1 : 1),
    )
    .map(({ isRemembered: _, ...candidate }) => candidate);
}

function score({ agrees, differs }: Evidence): number {
  return agrees.length - differs.length;
}

/** Ids that other manifests name for themselves. */
function claimedIds(wanted: readonly Resource[], resource: Resource): ReadonlySet<string> {
  const ids = new Set<string>();
  for (const other of wanted) {
    if (other !== resource && other.kind === resource.kind && other.id !== undefined) ids.add(other.id);
  }
  return ids;
}

/** First what a state remembers and the record bears out; then, among the rest, what fits one manifest alone and no other does. */
function certainOf(
  { remembered, wanted }: Matching,
  offers: ReadonlyMap<Address, readonly Candidate[]>,
): Map<Address, Candidate> {
  const certain = new Map<Address, Candidate>();
  const taken = new Set<string>();
  for (const { address, kind } of wanted) {
    const id = remembered.get(address)?.id;
    const candidate = offers.get(address)?.find((each) => each.id === id && each.isExact);
    if (candidate === undefined || taken.has(recordKey(kind, candidate.id))) continue;
    certain.set(address, candidate);
    taken.add(recordKey(kind, candidate.id));
  }
  const exact = new Map<Address, readonly Candidate[]>();
  const claims = new Map<string, number>();
  for (const { address, kind } of wanted) {
    if (certain.has(address)) continue;
    const open = (offers.get(address) ?? []).filter(
      ({ id, isExact }) => isExact && !taken.has(recordKey(kind, id)),
    );
    exact.set(address, open);
    for (const { id } of open) claims.set(recordKey(kind, id), (claims.get(recordKey(kind, id)) ?? 0) + 1);
  }
  for (const [address, [only, ...more]] of exact) {
    if (only === undefined || more.length > 0 || claims.get(recordKey(kindOf(address), only.id)) !== 1)
      continue;
    certain.set(address, only);
  }
  return certain;
}

/** The ids of what is looked up by its name on the platform, where the name is the only one. */
function lookupIds({ discovery }: Matching): IdOf {
  const ids = new Map<string, string | undefined>();
  for (const [kind, records] of discovery.lookups) {
    for (const { id, name } of records) {
      const address = `${kind}/${name}`;
      ids.set(address, ids.has(address) ? undefined : id);
    }
  }
  return ({ address }) => ids.get(address);
}
