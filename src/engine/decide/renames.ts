import { type Address, kindOf } from '../../manifests/resource.ts';
import { isMasked } from '../../state/fingerprint.ts';
import type { State } from '../../state/state.ts';
import type { ResourceEntry } from '../../state/state-document.ts';
import { canonicalJson, isObject, type Json } from '../../values/json.ts';
import type { PlannedResource, PlanWarning } from '../plan/plan-document.ts';
import type { Bound } from './bind.ts';

/** A value that so many of the released records share identifies none of them. */
const MOST_SHARING = 8;
/** Characters of a text that are compared word by word. */
const MOST_READ = 10_000;
/** Characters of a value that count at most: one long text must not outweigh everything else. */
const MOST_COUNTED = 200;
/** Records that a new one is compared with at most: those with the most values in common. */
const MOST_COMPARED = 3;
/** The share of two specs, by characters, that must be the same. */
const NEARLY = 0.75;

interface Forgotten {
  readonly address: Address;
  readonly recorded: ResourceEntry['recorded'];
}

interface Pair {
  readonly created: Address;
  readonly forgotten: Address;
  readonly share: number;
}

/**
 * Points out each create that looks like a record or an unknown create that left the manifests, in the scope of the run or not. Only records that have a value in
 * common which few others have are compared, so that the cost grows with their number and not with its square.
 */
export function renameWarnings(
  planned: readonly PlannedResource[],
  { state, declared, previous }: Pick<Bound, 'declared' | 'previous'> & { readonly state: State },
): PlanWarning[] {
  const created = planned.filter(({ action, recreates }) => action === 'create' && recreates === undefined);
  const renamed = new Set(planned.map(({ previous_address }) => previous_address));
  const known = new Map<Address, { readonly recorded: Forgotten['recorded'] }>([
    ...state.resources,
    ...state.pending,
  ]);
  const forgotten = [...known].flatMap(([address, { recorded }]): Forgotten[] =>
    declared.has(address) || previous.has(address) || renamed.has(address) ? [] : [{ address, recorded }],
  );
  if (created.length === 0 || forgotten.length === 0) return [];
  const byValue = indexOf(forgotten);
  const pairs = created
    .flatMap((each) => likeliest(each, byValue))
    .sort((a, b) => b.share - a.share || (a.created < b.created ? -1 : 1));
  const taken = new Set<Address>();
  return pairs.flatMap(({ created: address, forgotten: old }): PlanWarning[] => {
    if (taken.has(old)) return [];
    taken.add(old);
    const id = state.pending.has(old) ? null : (state.resources.get(old)?.id ?? null);
    const next = [{ action: 'keep_record', id, previous_name: old.slice(old.indexOf('/') + 1) }] as const;
    return [{ address, message: `This looks like a rename of ${old}.`, next }];
  });
}

function indexOf(forgotten: readonly Forgotten[]): ReadonlyMap<string, readonly Forgotten[]> {
  const byValue = new Map<string, Forgotten[]>();
  for (const each of forgotten) {
    for (const [path, value] of Object.entries(each.recorded)) {
      const key = keyOf(kindOf(each.address), path, value);
      const sharing = byValue.get(key);
      if (sharing === undefined) byValue.set(key, [each]);
      else if (sharing.length <= MOST_SHARING) sharing.push(each);
    }
  }
  return byValue;
}

/** The record most similar to the new one; none where two are equally similar. */
function likeliest(
  { address, kind, desired = {} }: PlannedResource,
  byValue: ReadonlyMap<string, readonly Forgotten[]>,
): Pair[] {
  const candidates = new Map<Forgotten, number>();
  for (const [path, value] of Object.entries(desired)) {
    const sharing = byValue.get(keyOf(kind, path, value)) ?? [];
    if (sharing.length > MOST_SHARING) continue;
    for (const each of sharing) candidates.set(each, (candidates.get(each) ?? 0) + 1);
  }
  const [best, second] = [...candidates]
    .sort(([, a], [, b]) => b - a)
    .slice(0, MOST_COMPARED)
    .map(([each]) => ({
      created: address,
      forgotten: each.address,
      share: shareOf(desired, each.recorded),
    }))
    .sort((a, b) => b.share - a.share);
  if (best === undefined || best.share < NEARLY || best.share === second?.share) return [];
  return [best];
}

function shareOf(desired: Readonly<Record<string, Json>>, recorded: Readonly<Record<string, Json>>): number {
  let all = 0;
  let same = 0;
  for (const path of new Set([...Object.keys(desired), ...Object.keys(recorded)])) {
    const [a, b] = [desired[path], recorded[path]];
    // A secret is a name here and a fingerprint there.
    if (isSecret(a) || isSecret(b)) continue;
    const weight = Math.max(weightOf(a), weightOf(b));
    all += weight;
    if (a !== undefined && b !== undefined) same += weight * likeness(a, b);
  }
  return all === 0 ? 0 : same / all;
}

function likeness(a: Json, b: Json): number {
  if (typeof a !== 'string' || typeof b !== 'string') return canonicalJson(a) === canonicalJson(b) ? 1 : 0;
  if (a === b) return 1;
  const [words, others] = [wordsOf(a), wordsOf(b)];
  let shared = 0;
  for (const word of words) if (others.has(word)) shared += 1;
  return shared / Math.max(words.size, others.size, 1);
}

function wordsOf(text: string): ReadonlySet<string> {
  return new Set(text.slice(0, MOST_READ).split(/\s+/));
}

function weightOf(value: Json | undefined): number {
  if (value === undefined) return 0;
  return Math.min(MOST_COUNTED, typeof value === 'string' ? value.length + 2 : canonicalJson(value).length);
}

function isSecret(value: Json | undefined): boolean {
  return value !== undefined && (isMasked(value) || (isObject(value) && '$secret' in value));
}

function keyOf(kind: string, path: string, value: Json): string {
  return `${kind} ${path} ${canonicalJson(value)}`;
}
