import { kindNamed } from '../../kinds/index.ts';
import { type Address, kindOf } from '../../manifests/resource.ts';
import { isMasked } from '../../state/fingerprint.ts';
import type { State } from '../../state/state.ts';
import type { ResourceEntry } from '../../state/state-document.ts';
import { canonicalJson, isObject, type Json } from '../../values/json.ts';
import type { PlannedResource, PlanWarning } from '../plan/plan-document.ts';
import type { Bound } from './bind.ts';
import { evidenceOf, likelihood } from './compare.ts';

type Known = ReadonlyMap<Address, Pick<ResourceEntry, 'recorded'>>;

interface Pair {
  readonly created: Address;
  readonly forgotten: Address;
  readonly score: number;
}

/**
 * Warns about each create that is probably a rename: it resembles a state entry or an unknown create without a manifest, in or outside
 * the scope of the run. Both share a value that no other record in the state has, and more of their fields match than differ.
 */
export function renameWarnings(
  planned: readonly PlannedResource[],
  { state, declared, previous }: Pick<Bound, 'declared' | 'previous'> & { readonly state: State },
): PlanWarning[] {
  const created = planned.filter(({ action, recreates }) => action === 'create' && recreates === undefined);
  const renamed = new Set(planned.map(({ previous_address }) => previous_address));
  const known: Known = new Map<Address, Pick<ResourceEntry, 'recorded'>>([...state.resources, ...state.pending]);
  const forgotten = new Set(
    [...known.keys()].filter((address) => !declared.has(address) && !previous.has(address) && !renamed.has(address)),
  );
  if (created.length === 0 || forgotten.size === 0) return [];
  const holders = holdersOf(known);
  const pairs = created
    .flatMap((each) => findMostSimilar(each, { known, forgotten, holders }))
    .sort((a, b) => b.score - a.score || (a.created < b.created ? -1 : 1));
  const claimed = new Set<Address>();
  return pairs.flatMap(({ created: address, forgotten: old }): PlanWarning[] => {
    if (claimed.has(old)) return [];
    claimed.add(old);
    const id = state.pending.has(old) ? null : (state.resources.get(old)?.id ?? null);
    const next = [{ action: 'keep_record', id, previous_name: old.slice(old.indexOf('/') + 1) }] as const;
    return [{ address, message: `This looks like a rename of ${old}.`, next }];
  });
}

/** The address of the only record with a certain value in a field, by field and value; undefined if several records have the value. */
type Holders = ReadonlyMap<string, Address | undefined>;

function holdersOf(known: Known): Holders {
  const holders = new Map<string, Address | undefined>();
  for (const [address, { recorded }] of known) {
    for (const [path, value] of Object.entries(recorded)) {
      const key = keyOf(kindOf(address), path, value);
      holders.set(key, holders.has(key) ? undefined : address);
    }
  }
  return holders;
}

interface Candidates {
  readonly known: Known;
  readonly forgotten: ReadonlySet<Address>;
  readonly holders: Holders;
}

/** Finds the record that is most similar to the new one. Returns none if two are equally similar. */
function findMostSimilar(
  { address, kind, desired = {} }: PlannedResource,
  { known, forgotten, holders }: Candidates,
): Pair[] {
  // Secrets cannot be compared: the plan contains their names, and the state contains their fingerprints.
  const values = Object.entries(desired).filter(([, value]) => !isSecret(value));
  const candidates = new Set(values.flatMap(([path, value]) => holders.get(keyOf(kind, path, value)) ?? []));
  const [best, second] = [...candidates]
    .filter((each) => forgotten.has(each))
    .map((each): Pair => {
      const recorded = known.get(each)?.recorded ?? {};
      const shownAt = (path: string) => (isMasked(recorded[path]) ? undefined : recorded[path]);
      const score = likelihood(evidenceOf(kindNamed(kind), values, shownAt));
      return { created: address, forgotten: each, score };
    })
    .sort((a, b) => b.score - a.score);
  return best === undefined || best.score <= 0 || best.score === second?.score ? [] : [best];
}

function isSecret(value: Json): boolean {
  return isMasked(value) || (isObject(value) && '$secret' in value);
}

function keyOf(kind: string, path: string, value: Json): string {
  return `${kind} ${path} ${canonicalJson(value)}`;
}
