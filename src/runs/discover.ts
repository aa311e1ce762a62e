import type { Observation } from '../engine/decide/observed.ts';
import { eachConcurrently } from '../engine/observe/each-concurrently.ts';
import { getRecord, type OnReadProgress, ReadCounter, readList, unlisted } from '../engine/observe/read-records.ts';
import { addClause, gatherMentions, type MentionsById } from '../engine/observe/search-candidates.ts';
import { kinds, lookups } from '../kinds/index.ts';
import type { Kind, LookupRecord, PublishedRecord, ShownRecord } from '../kinds/kind.ts';
import { kindOf } from '../manifests/resource.ts';
import type { RecordReads } from './orphan-status.ts';

export interface Discovering extends RecordReads {
  /** The kinds to search; all by default. */
  readonly kinds?: ReadonlyMap<string, Kind>;
  /** Known ids: from a person or a state. */
  readonly known: readonly KnownId[];
  /** Follows mentions since this time. */
  readonly since: Date;
  readonly onProgress?: OnReadProgress;
}

export interface FoundRecord {
  readonly record: ShownRecord;
  /** Set if the read hides a config object that a published version may show. */
  readonly published: PublishedRecord | undefined;
  /** Clauses about the places that mention the id; empty for a listed record. */
  readonly mentions: readonly string[];
}

/** All records of a workspace that can be found. */
export interface Discovery {
  /** By kind, with every kind present; ordered by id. */
  readonly records: ReadonlyMap<string, readonly FoundRecord[]>;
  readonly lookups: ReadonlyMap<string, readonly LookupRecord[]>;
  readonly missed: readonly Missed[];
}

/** The results of `discoverEach` besides the records. */
export type DiscoveryNotes = Omit<Discovery, 'records'>;

/** Finds the records of a workspace like `discoverEach`, and returns all of them. */
export async function discover(input: Discovering): Promise<Discovery> {
  const records = new Map<string, FoundRecord[]>([...(input.kinds ?? kinds).keys()].map((kind) => [kind, []]));
  const surroundings = await discoverEach(input, (kind, found) => records.get(kind.name)?.push(found));
  for (const found of records.values()) found.sort((a, b) => (a.record.id < b.record.id ? -1 : 1));
  return { records, ...surroundings };
}

/**
 * Finds the records of a workspace: listed kinds by their lists, others by ids that are known or that other records mention. Missing
 * records are reported, not thrown.
 * @param take receives each record, grouped by kind, in any order within a kind. No record is kept.
 * @throws ForeignRecord if all records belong to other workspaces.
 * @throws PlatformError if a list or a record cannot be read.
 */
export async function discoverEach(
  input: Discovering,
  take: (kind: Kind, found: FoundRecord) => void,
): Promise<DiscoveryNotes> {
  const progress = new ReadCounter(input.onProgress, input.client);
  const missed: Missed[] = [];
  const search = { ...input, progress, missed, take };
  for (const kind of (input.kinds ?? kinds).values()) {
    if (kind.list === undefined) await findById(kind, search);
    else await findByList(kind, search);
  }
  const byLookup = new Map<string, readonly LookupRecord[]>();
  for (const lookup of lookups.values()) {
    const shown = await readList(lookup, input, progress);
    const records = shown.map(({ id, name }) => ({ id, name }));
    byLookup.set(lookup.name, records);
  }
  input.client.workspaceCheck.refuseWrongWorkspace();
  return { lookups: byLookup, missed };
}

interface DiscoverySearch extends Discovering {
  readonly progress: ReadCounter;
  readonly missed: Missed[];
  take(kind: Kind, found: FoundRecord): void;
}

async function findByList(kind: Kind, search: DiscoverySearch): Promise<void> {
  const { client, progress, missed, take } = search;
  // Only ids are collected.
  const passing = async function* () {
    for await (const record of kind.list?.(client) ?? []) {
      take(kind, { record, published: undefined, mentions: [] });
      yield record.id;
    }
  };
  const ids = new Set(await readList({ list: passing }, search, progress));
  for (const [id, clauses] of knownOf(kind, search.known)) {
    if (!ids.has(id)) missed.push({ kind: kind.name, id, because: why(unlisted(id, client), clauses) });
  }
}

async function findById(kind: Kind, search: DiscoverySearch): Promise<void> {
  const { client, workspaceId, concurrency, progress, missed, take } = search;
  const ids = await mentionedIds(kind, search);
  missed.push({ kind: kind.name, because: cannotBeListed(kind.mentions !== undefined) });
  const gaps: Missed[] = [];
  progress.expect(ids.size);
  await eachConcurrently([...ids], concurrency, async ([id, clauses]) => {
    const seen = await getRecord(kind, { id, client, workspaceId });
    if (seen.status !== 'shown') gaps.push({ kind: kind.name, id, because: why(seen, clauses) });
    else {
      const published = hidesObjects(kind, seen.record) ? await kind.published?.(client, seen.record) : undefined;
      take(kind, { record: seen.record, published, mentions: clauses });
    }
    progress.done(1);
  });
  missed.push(...gaps.sort((a, b) => ((a.id ?? '') < (b.id ?? '') ? -1 : 1)));
}

/** True if the record hides an object that a published version may show. */
function hidesObjects(kind: Kind, record: ShownRecord): boolean {
  return Object.keys(kind.spec.shape).some((root) => kind.fields[root]?.hidden !== true && record[root] === undefined);
}

function cannotBeListed(areMentioned: boolean): string {
  return areMentioned
    ? 'the API cannot list them; found only those that other records mention, that you named or that are in the state'
    : 'the API cannot list them and nothing mentions them; found only those that you named or that are in the state';
}

export function why(seen: Observation, clauses: readonly string[]): string {
  if (seen.status === 'foreign') return `it belongs to workspace ${seen.workspaceId} (${clauses.join(', ')})`;
  return `not found on the platform (${clauses.join(', ')})`;
}

export function* idsInState(resources: Iterable<readonly [string, { readonly id: string }]>): Generator<KnownId> {
  for (const [address, { id }] of resources) {
    const kind = kindOf(address);
    if (kinds.has(kind)) yield { kind, id, clause: `the state has it as ${address}` };
  }
}

export interface KnownId {
  readonly kind: string;
  readonly id: string;
  /** The origin of the id as a clause, such as `it was named`. */
  readonly clause: string;
}

/** A possible record that was not read. */
export interface Missed {
  readonly kind: string;
  /** Absent if it concerns the whole kind. */
  readonly id?: string;
  readonly because: string;
}

interface MentionSearch extends Pick<Discovering, 'client' | 'known'> {
  /** Follows mentions since this time; undefined for those that a few requests return. */
  readonly since: Date | undefined;
  /** Receives the sources that could not be read. */
  readonly missed: Missed[];
}

/** The ids of an unlisted kind: known ones first, then those that other records mention, each with its clauses. */
export async function mentionedIds(kind: Kind, { client, known, since, missed }: MentionSearch): Promise<MentionsById> {
  const ids = knownOf(kind, known);
  const sources = kind.mentions?.map((source) => source.read(client, since)) ?? [];
  await Promise.all(
    sources.map(async (source) => {
      const refused = await gatherMentions(source, ids);
      if (refused === undefined) return;
      missed.push({ kind: kind.name, because: `some mentions could not be read: ${refused.message}` });
    }),
  );
  return ids;
}

function knownOf({ name }: Kind, known: readonly KnownId[]): Map<string, string[]> {
  const ids = new Map<string, string[]>();
  for (const { kind, id, clause } of known) if (kind === name) addClause(ids, { id, clause });
  return ids;
}

/**
 * The records with these ids, in order, with several reads at once.
 * @param onGap is called for ids without a record in this workspace.
 */
export async function* readMentioned(
  kind: Kind,
  ids: Iterable<string>,
  { client, workspaceId, concurrency, onGap }: RecordReads & { onGap(id: string, seen: Observation): void },
): AsyncGenerator<ShownRecord> {
  const look = async (id: string) => ({ id, seen: await getRecord(kind, { id, client, workspaceId }) });
  for await (const { id, seen } of inOrder(ids, concurrency, look)) {
    if (seen.status === 'shown') yield seen.record;
    else onGap(id, seen);
  }
}

async function* inOrder<T, R>(
  items: Iterable<T>,
  concurrency: number,
  run: (item: T) => Promise<R>,
): AsyncGenerator<R> {
  const running: Promise<R>[] = [];
  for (const item of items) {
    const result = run(item);
    // Awaited below, unless an earlier read fails or the caller stops.
    result.catch(() => undefined);
    running.push(result);
    const [first] = running;
    if (running.length < concurrency || first === undefined) continue;
    running.shift();
    yield await first;
  }
  for (const result of running) yield await result;
}
