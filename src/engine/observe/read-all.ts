import { kindNamed, kinds, lookups } from '../../kinds/index.ts';
import type { Kind, Lookup, PublishedRecord, ShownRecord } from '../../kinds/kind.ts';
import type { Address } from '../../manifests/resource.ts';
import { UserError } from '../../problems/user-error.ts';
import type { State } from '../../state/state.ts';
import type { PendingCreate } from '../../state/state-document.ts';
import { references } from '../../values/value.ts';
import { type Binding, isAdopting } from '../decide/bind.ts';
import { leavesOf, shownAt } from '../decide/field-rules.ts';
import { idsByName } from '../decide/lookups.ts';
import type { Candidate, Observation, Observed } from '../decide/observed.ts';
import { eachConcurrently } from './each-concurrently.ts';
import { returnedOrphans } from './missing-records.ts';
import type { ObserveOptions } from './observe-options.ts';
import type { ReadAhead } from './read-ahead.ts';
import { ReadCounter } from './read-counter.ts';
import { matchToList, readList } from './read-list.ts';
import { getRecord, internStringsOf } from './read-record.ts';
import { searchCandidates } from './search-candidates.ts';

interface ReadingAll extends ObserveOptions {
  /** What was begun to be read before. */
  readonly ahead?: ReadAhead | undefined;
  /** Told of each record that only its id leads to, as soon as it was looked at. */
  onObserved?(binding: Binding, observation: Observation): void;
}

/**
 * Reads what a plan of these resources needs, each thing once: listed kinds by their lists, the others record by record.
 * @throws PlatformError when a read fails for another reason than that the record is missing.
 * @throws UserError when everything that was read belongs to other workspaces, or everything that was recorded is missing.
 */
export async function readAll(
  bindings: readonly Binding[],
  { ahead, ...options }: ReadingAll,
): Promise<Observed> {
  const progress = new ReadCounter(options.onProgress);
  const records = new Map<Address, Observation>();
  const wanted: Binding[] = [];
  for (const binding of bindings) {
    if (options.refresh || binding.entry === undefined) wanted.push(binding);
    else records.set(binding.resource.address, REMEMBERED);
  }
  const byKind = Map.groupBy(wanted, (binding) => binding.resource.kind);

  const lists = new Map<string, readonly ShownRecord[]>();
  const single: Binding[] = [];
  const listing: Promise<void>[] = [];
  for (const [name, members] of byKind) {
    const kind = kindNamed(name);
    if (kind.list === undefined) single.push(...members);
    else {
      listing.push(
        (async () => {
          const shown = await counted(progress, ahead?.list(name), () => readList(kind, options, progress));
          lists.set(name, shown);
          for (const [address, observation] of matchToList(kind, members, { shown, client: options.client }))
            records.set(address, observation);
        })(),
      );
    }
  }
  const named = new Map<string, ReadonlyMap<string, readonly string[]>>();
  for (const lookup of lookupsNeeded(bindings)) {
    listing.push(
      (async () => {
        const { name } = lookup;
        const shown = await counted(progress, ahead?.lookup(name), () => readList(lookup, options, progress));
        named.set(name, idsByName(shown));
      })(),
    );
  }
  const searching = searchAll(bindings, options);
  progress.expect(single.length);
  const reading = eachConcurrently(single, options.concurrency, (binding) =>
    progress.single(async () => {
      const observation = await readOne(binding, { ...options, ahead });
      records.set(binding.resource.address, observation);
      options.onObserved?.(binding, observation);
    }),
  );
  const [candidates] = await Promise.all([searching, reading, ...listing]);
  options.client.workspaceCheck.refuseWrongWorkspace();
  if (options.refresh && !options.evenIfAll) refuseWhenAllMissing(bindings, records, options.state);
  const missing = bindings.filter(({ resource }) => records.get(resource.address)?.status === 'missing');
  const kindsMissing = new Set(missing.map(({ resource }) => resource.kind));
  const returned = await returnedOrphans(kindsMissing, lists, options);
  return { records, lists, lookups: named, candidates, returned };
}

/** What was begun before, which nobody counted then, or else what is read now. */
async function counted<T>(
  progress: ReadCounter,
  begun: Promise<readonly T[] | undefined> | undefined,
  read: () => Promise<readonly T[]>,
): Promise<readonly T[]> {
  const shown = await begun;
  if (shown === undefined) return read();
  progress.expect(shown.length);
  progress.done(shown.length);
  return shown;
}

/** For creates that had no clear answer, of kinds that no list shows. Reads nothing where there are none. */
async function searchAll(
  bindings: readonly Binding[],
  options: ObserveOptions,
): Promise<Map<Address, Candidate[]>> {
  const found = new Map<Address, Candidate[]>();
  for (const kind of kinds.values()) {
    const lost = new Map<Address, PendingCreate>();
    for (const { resource, pending } of bindings) {
      if (resource.kind === kind.name && pending !== undefined) lost.set(resource.address, pending);
    }
    for (const [address, candidates] of await searchCandidates(kind, lost, options))
      found.set(address, candidates);
  }
  return found;
}

/** Looks at one record that only its id leads to. */
async function readOne(binding: Binding, { ahead, ...options }: ReadingAll): Promise<Observation> {
  const kind = kindNamed(binding.resource.kind);
  if (binding.id === undefined || kind.get === undefined) return { status: 'absent' };
  const { id } = binding;
  const seen = (await ahead?.record(kind, id)) ?? (await getRecord(kind, { ...options, id }));
  if (seen.status !== 'shown') return seen;
  internStringsOf(binding.entry, seen.record);
  return { ...seen, published: await publishedOf(kind, { binding, record: seen.record, options }) };
}

/** One more read, for an adoption only, where the record hides something that the manifest has. */
async function publishedOf(
  kind: Kind,
  { binding, record, options }: { binding: Binding; record: ShownRecord; options: ObserveOptions },
): Promise<PublishedRecord | undefined> {
  if (kind.published === undefined || !isAdopting(binding)) return undefined;
  const hides = [...leavesOf(kind, binding.resource.spec).keys()].some(
    (path) => shownAt(kind, record, path) === undefined,
  );
  return hides ? kind.published(options.client, record) : undefined;
}

function* lookupsNeeded(bindings: readonly Binding[]): Generator<Lookup> {
  const names = new Set<string>();
  for (const { resource } of bindings)
    for (const reference of references(resource.spec)) names.add(reference.kind);
  for (const lookup of lookups.values()) if (names.has(lookup.name)) yield lookup;
}

/** Fewer may well have been deleted. */
const FEWEST_TO_SUSPECT = 3;

function refuseWhenAllMissing(
  bindings: readonly Binding[],
  records: ReadonlyMap<Address, Observation>,
  state: State,
): void {
  const read = bindings.filter((binding) => binding.entry !== undefined);
  if (read.length < FEWEST_TO_SUSPECT) return;
  if (read.some(({ resource }) => records.get(resource.address)?.status !== 'missing')) return;
  const which = read.length === state.resources.size ? 'managed records' : 'managed records in this run';
  throw new UserError(`none of the ${read.length} ${which} exists any more`, {
    hint: 'Check the API key, base_url and the state; the platform may also have a fault.',
    next: [{ action: 'recreate', address: 'all' }],
  });
}

const REMEMBERED: Observation = { status: 'remembered' };
