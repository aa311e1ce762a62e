import { kindNamed, kinds, lookups } from '../../kinds/index.ts';
import type { Kind, Lookup, PublishedRecord, ShownRecord } from '../../kinds/kind.ts';
import { type Address, idKey } from '../../manifests/resource.ts';
import { PlatformError } from '../../platform/platform-error.ts';
import { UserError } from '../../problems/user-error.ts';
import type { Orphan, PendingCreate } from '../../state/state-document.ts';
import { isLoopback } from '../../values/loopback.ts';
import { references } from '../../values/value.ts';
import { type Binding, isAdopting } from '../decide/bind.ts';
import { leavesOf, valueInRecord } from '../decide/field-rules.ts';
import type { Candidate, Observation, Observed } from '../decide/observed.ts';
import { idsByName } from '../decide/references.ts';
import { eachConcurrently } from './each-concurrently.ts';
import type { ReadAhead } from './read-ahead.ts';
import { getRecord, internStringsOf, matchToList, type ObserveOptions, ReadCounter, readList } from './read-records.ts';
import { searchCandidates } from './search-candidates.ts';

interface ReadAllContext extends ObserveOptions {
  readonly workspace: { readonly baseUrl: string };
  readonly ahead?: ReadAhead | undefined;
  /** Called for each record that is read by id, as soon as it is read. */
  onObserved?(binding: Binding, observation: Observation): void;
}

interface ReadRun extends ReadAllContext {
  readonly progress: ReadCounter;
  readonly records: Map<Address, Observation>;
}

/**
 * Reads all records that a plan of these resources needs, each once. Kinds with a list are read by listing them, others one by one.
 * @throws PlatformError if a read fails, except for a missing record.
 * @throws UserError if all records belong to other workspaces, or if all recorded records are missing.
 */
export async function readAll(bindings: readonly Binding[], options: ReadAllContext): Promise<Observed> {
  const records = new Map<Address, Observation>();
  const reading = { ...options, progress: new ReadCounter(options.onProgress, options.client), records };
  const wanted: Binding[] = [];
  for (const binding of bindings) {
    if (options.refresh || binding.entry === undefined) wanted.push(binding);
    else records.set(binding.resource.address, REMEMBERED);
  }
  const [lists, lookups, candidates] = await Promise.all([
    readListed(wanted, reading),
    readLookups(bindings, reading),
    searchAll(bindings, options),
    readUnlisted(wanted, reading),
  ]);
  options.client.workspaceCheck.refuseWrongWorkspace();
  if (options.refresh && !options.evenIfAll) refuseWhenAllMissing(bindings, records, options);
  const missing = bindings.filter(({ resource }) => records.get(resource.address)?.status === 'missing');
  const kindsWithMissing = new Set(missing.map(({ resource }) => resource.kind));
  const returned = await returnedOrphans(kindsWithMissing, lists, options);
  return { records, lists, lookups, candidates, returned };
}

async function readListed(
  bindings: readonly Binding[],
  reading: ReadRun,
): Promise<Map<string, readonly ShownRecord[]>> {
  const lists = new Map<string, readonly ShownRecord[]>();
  const { client, records, ahead } = reading;
  const byKind = Map.groupBy(bindings, ({ resource }) => kindNamed(resource.kind));
  await Promise.all(
    [...byKind].map(async ([kind, members]) => {
      if (kind.list === undefined) return;
      const shown = await listOf(kind, ahead?.list(kind.name), reading);
      lists.set(kind.name, shown);
      for (const [address, observation] of matchToList(kind, members, { shown, client }))
        records.set(address, observation);
    }),
  );
  return lists;
}

/** Reads the lists of the lookups that references use. */
async function readLookups(bindings: readonly Binding[], reading: ReadRun): Promise<Observed['lookups']> {
  const names = new Set(bindings.flatMap(({ resource }) => references(resource.spec).map(({ kind }) => kind)));
  const needed = [...lookups.values()].filter(({ name }) => names.has(name));
  const read = async (lookup: Lookup) =>
    [lookup.name, idsByName(await listOf(lookup, reading.ahead?.lookup(lookup.name), reading))] as const;
  return new Map(await Promise.all(needed.map(read)));
}

/** Reads the records of kinds without a list. */
async function readUnlisted(bindings: readonly Binding[], reading: ReadRun): Promise<void> {
  const { progress, records, concurrency } = reading;
  const single = bindings.filter(({ resource }) => kindNamed(resource.kind).list === undefined);
  progress.expect(single.length);
  await eachConcurrently(single, concurrency, (binding) =>
    progress.single(async () => {
      const observation = await readOne(binding, reading);
      records.set(binding.resource.address, observation);
      reading.onObserved?.(binding, observation);
    }),
  );
}

/** Returns the list that was read ahead, or else reads it. Counts its records as progress. */
async function listOf<T>(
  source: Parameters<typeof readList<T>>[0],
  started: Promise<readonly T[] | undefined> | undefined,
  { progress, ...options }: ReadRun,
): Promise<readonly T[]> {
  const shown = await started;
  if (shown === undefined) return readList(source, options, progress);
  progress.expect(shown.length);
  progress.done(shown.length);
  return shown;
}

/** Searches for records that may be the result of unknown creates, for kinds without a list. */
async function searchAll(bindings: readonly Binding[], options: ObserveOptions): Promise<Map<Address, Candidate[]>> {
  const found = new Map<Address, Candidate[]>();
  for (const kind of kinds.values()) {
    const unknownCreates = new Map<Address, PendingCreate>();
    for (const { resource, pending } of bindings) {
      if (resource.kind === kind.name && pending !== undefined) unknownCreates.set(resource.address, pending);
    }
    const candidatesByAddress = await searchCandidates(kind, unknownCreates, options);
    for (const [address, candidates] of candidatesByAddress) found.set(address, candidates);
  }
  return found;
}

async function readOne(binding: Binding, options: ReadAllContext): Promise<Observation> {
  const kind = kindNamed(binding.resource.kind);
  if (binding.id === undefined || kind.get === undefined) return { status: 'absent' };
  const { id } = binding;
  const { ahead, client, workspaceId } = options;
  const observation = (await ahead?.record(kind, id)) ?? (await getRecord(kind, { id, client, workspaceId }));
  if (observation.status !== 'shown') return observation;
  internStringsOf(binding.entry, observation.record);
  if (!isAdopting(binding)) return observation;
  return {
    ...observation,
    published: await publishedOf(kind, { binding, record: observation.record, options }),
  };
}

/** Returns the published version for an import. Reads it only if the record lacks fields that the manifest sets. */
async function publishedOf(
  kind: Kind,
  { binding, record, options }: { binding: Binding; record: ShownRecord; options: ObserveOptions },
): Promise<PublishedRecord | undefined> {
  if (kind.published === undefined) return undefined;
  const isHidden = [...leavesOf(kind, binding.resource.spec).keys()].some(
    (path) => valueInRecord(kind, record, path) === undefined,
  );
  return isHidden ? kind.published(options.client, record) : undefined;
}

/** If at least this many records are managed and all of them are missing, they were probably not deleted on purpose. */
const MIN_SUSPICIOUS = 3;

function refuseWhenAllMissing(
  bindings: readonly Binding[],
  records: ReadonlyMap<Address, Observation>,
  { state, workspace }: Pick<ReadAllContext, 'state' | 'workspace'>,
): void {
  const managed = bindings.filter((binding) => binding.entry !== undefined);
  if (managed.length < MIN_SUSPICIOUS) return;
  if (managed.some(({ resource }) => records.get(resource.address)?.status !== 'missing')) return;
  const scope = managed.length === state.resources.size ? 'managed records' : 'managed records in this run';
  throw new UserError(`none of the ${managed.length} ${scope} exists`, {
    hint: isLoopback(new URL(workspace.baseUrl).hostname)
      ? 'An emulator without --data FILE loses its records when it stops.'
      : 'Check the API key, base_url and the state; the platform may also be at fault.',
    next: [{ action: 'recreate', address: 'all' }],
  });
}

const REMEMBERED: Observation = { status: 'remembered' };

/** Returns the keys of records that do not exist. Reads each record once, if possible. A record whose read fails counts as existing. */
export async function missingAmong(
  mentions: readonly { readonly kind: string; readonly id: string }[],
  options: ObserveOptions,
): Promise<ReadonlySet<string>> {
  const wanted = new Map(mentions.map((each) => [idKey(each.kind, each.id), each]));
  const missing = new Set<string>();
  await eachConcurrently([...wanted], options.concurrency, async ([key, { kind: name, id }]) => {
    const kind = kindNamed(name);
    if (kind.get !== undefined && (await isMissing(kind, id, options))) missing.add(key);
  });
  return missing;
}

async function isMissing(kind: Kind, id: string, options: ObserveOptions): Promise<boolean> {
  try {
    return (await getRecord(kind, { ...options, id })).status === 'missing';
  } catch (error) {
    if (error instanceof PlatformError && error.reason !== 'aborted') return false;
    throw error;
  }
}

/**
 * Returns the orphans of these kinds that were reported missing and exist again. A person may import such an orphan instead of a record
 * that is missing now. Orphans of kinds without a list are read one by one.
 */
async function returnedOrphans(
  kinds: ReadonlySet<string>,
  lists: ReadonlyMap<string, readonly ShownRecord[]>,
  options: ObserveOptions,
): Promise<readonly Orphan[]> {
  const candidates = options.state.orphans.filter(
    ({ kind, reason, closed }) => reason === 'gone' && closed === undefined && kinds.has(kind),
  );
  const returned = new Set<Orphan>();
  await eachConcurrently(candidates, options.concurrency, async (orphan) => {
    const list = lists.get(orphan.kind);
    const isShown =
      list === undefined
        ? (await getRecord(kindNamed(orphan.kind), { ...options, id: orphan.id })).status === 'shown'
        : list.some(({ id }) => id === orphan.id);
    if (isShown) returned.add(orphan);
  });
  return candidates.filter((orphan) => returned.has(orphan));
}
