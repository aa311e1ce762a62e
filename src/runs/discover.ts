import type { Observation } from '../engine/decide/observed.ts';
import { eachConcurrently } from '../engine/observe/each-concurrently.ts';
import {
  getRecord,
  type OnReadProgress,
  observationWithoutRecord,
  ReadCounter,
  readList,
} from '../engine/observe/read-records.ts';
import { addClause, gatherMentions, type MentionsById } from '../engine/observe/search-candidates.ts';
import { kinds, lookups } from '../kinds/index.ts';
import type { Kind, LookupRecord, PublishedRecord, ShownRecord } from '../kinds/kind.ts';
import { kindOf } from '../manifests/resource.ts';
import type { RecordReads } from './orphan-status.ts';

export interface DiscoveryInput extends RecordReads {
  /** The kinds to search. Default: all. */
  readonly kinds?: ReadonlyMap<string, Kind>;
  /** Ids that are in a state or that a person entered. */
  readonly known: readonly KnownId[];
  /** Mentions before this time are ignored. */
  readonly since: Date;
  readonly onProgress?: OnReadProgress;
}

export interface FoundRecord {
  readonly record: ShownRecord;
  /** The published version, if the record lacks a config object that the version may have. */
  readonly published: PublishedRecord | undefined;
  /** The sources that mention the id, as clauses; empty for a listed record. */
  readonly mentions: readonly string[];
}

/** All records of a workspace that can be found. */
export interface Discovery {
  /** The records of each kind, ordered by id. Every searched kind has an entry. */
  readonly records: ReadonlyMap<string, readonly FoundRecord[]>;
  readonly lookups: ReadonlyMap<string, readonly LookupRecord[]>;
  readonly missed: readonly MissedRecord[];
}

/** The results of `discoverEach` other than the records. */
export type DiscoveryNotes = Omit<Discovery, 'records'>;

/** Finds the records of a workspace like `discoverEach`, and returns all of them. */
export async function discover(input: DiscoveryInput): Promise<Discovery> {
  const records = new Map<string, FoundRecord[]>([...(input.kinds ?? kinds).keys()].map((kind) => [kind, []]));
  const notes = await discoverEach(input, (kind, found) => records.get(kind.name)?.push(found));
  for (const found of records.values()) found.sort((a, b) => (a.record.id < b.record.id ? -1 : 1));
  return { records, ...notes };
}

/**
 * Finds the records of a workspace. Reads the lists of the kinds that the API can list. Reads records of other kinds by id, if the id is
 * known or other records mention it. The result names records that are missing.
 * @param take receives each record. Records are grouped by kind, but not ordered within a kind, and are not kept in memory.
 * @throws ForeignRecord if all records belong to other workspaces.
 * @throws PlatformError if a list or a record cannot be read.
 */
export async function discoverEach(
  input: DiscoveryInput,
  take: (kind: Kind, found: FoundRecord) => void,
): Promise<DiscoveryNotes> {
  const progress = new ReadCounter(input.onProgress, input.client);
  const missed: MissedRecord[] = [];
  const search = { ...input, progress, missed, take };
  for (const kind of (input.kinds ?? kinds).values()) {
    if (kind.list === undefined) await findById(kind, search);
    else await findByList(kind, search);
  }
  const byLookup = new Map<string, readonly LookupRecord[]>();
  for (const lookup of lookups.values()) {
    const listed = await readList(lookup, input, progress);
    const records = listed.map(({ id, name }) => ({ id, name }));
    byLookup.set(lookup.name, records);
  }
  input.client.workspaceCheck.refuseWrongWorkspace();
  return { lookups: byLookup, missed };
}

interface DiscoverySearch extends DiscoveryInput {
  readonly progress: ReadCounter;
  readonly missed: MissedRecord[];
  take(kind: Kind, found: FoundRecord): void;
}

async function findByList(kind: Kind, search: DiscoverySearch): Promise<void> {
  const { client, progress, missed, take } = search;
  // Passes each record to `take`, and keeps only the id.
  const listRecords = async function* () {
    for await (const record of kind.list?.(client) ?? []) {
      take(kind, { record, published: undefined, mentions: [] });
      yield record.id;
    }
  };
  const ids = new Set(await readList({ list: listRecords }, search, progress));
  for (const [id, clauses] of knownOf(kind, search.known)) {
    if (!ids.has(id))
      missed.push({ kind: kind.name, id, because: missingReason(observationWithoutRecord(id, client), clauses) });
  }
}

async function findById(kind: Kind, search: DiscoverySearch): Promise<void> {
  const { client, workspaceId, concurrency, progress, missed, take } = search;
  const ids = await mentionedIds(kind, search);
  missed.push({ kind: kind.name, because: cannotBeListed(kind.mentions !== undefined) });
  const gaps: MissedRecord[] = [];
  progress.expect(ids.size);
  await eachConcurrently([...ids], concurrency, async ([id, clauses]) => {
    const observation = await getRecord(kind, { id, client, workspaceId });
    if (observation.status !== 'shown')
      gaps.push({ kind: kind.name, id, because: missingReason(observation, clauses) });
    else {
      const published = hidesObjects(kind, observation.record)
        ? await kind.published?.(client, observation.record)
        : undefined;
      take(kind, { record: observation.record, published, mentions: clauses });
    }
    progress.done(1);
  });
  missed.push(...gaps.sort((a, b) => ((a.id ?? '') < (b.id ?? '') ? -1 : 1)));
}

/** True if the record lacks an object that a published version may have. */
function hidesObjects(kind: Kind, record: ShownRecord): boolean {
  return Object.keys(kind.spec.shape).some((root) => kind.fields[root]?.hidden !== true && record[root] === undefined);
}

function cannotBeListed(areMentioned: boolean): string {
  return areMentioned
    ? 'the API cannot list them, so the search covers only ids in the state, ids in other records, and ids that you pass'
    : 'the API cannot list them, and other records do not mention them, so the search covers only ids in the state and ids that you pass';
}

export function missingReason(observation: Observation, clauses: readonly string[]): string {
  if (observation.status === 'foreign')
    return `belongs to workspace ${observation.workspaceId} (${clauses.join(', ')})`;
  return `not found on the platform (${clauses.join(', ')})`;
}

export function* idsInState(resources: Iterable<readonly [string, { readonly id: string }]>): Generator<KnownId> {
  for (const [address, { id }] of resources) {
    const kind = kindOf(address);
    if (kinds.has(kind)) yield { kind, id, clause: `in the state as ${address}` };
  }
}

export interface KnownId {
  readonly kind: string;
  readonly id: string;
  /** The origin of the id as a clause, such as `in the state as Agent/a`. */
  readonly clause: string;
}

/** A record that was not found, or a reason why records of a kind may be missing. */
export interface MissedRecord {
  readonly kind: string;
  /** Undefined if the entry concerns the whole kind. */
  readonly id?: string;
  readonly because: string;
}

interface MentionSearch extends Pick<DiscoveryInput, 'client' | 'known'> {
  /** Mentions before this time are ignored. If undefined, only sources that need few requests are searched. */
  readonly since: Date | undefined;
  /** Receives an entry for each source that cannot be read. */
  readonly missed: MissedRecord[];
}

/** Returns the ids of an unlisted kind, each with the clauses about its origin. Known ids come first, then mentioned ids. */
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
 * Yields the records with these ids, in the order of the ids. Reads several records at once.
 * @param onGap is called for each id without a record in this workspace.
 */
export async function* readMentioned(
  kind: Kind,
  ids: Iterable<string>,
  { client, workspaceId, concurrency, onGap }: RecordReads & { onGap(id: string, observation: Observation): void },
): AsyncGenerator<ShownRecord> {
  const read = async (id: string) => ({ id, observation: await getRecord(kind, { id, client, workspaceId }) });
  for await (const { id, observation } of inOrder(ids, concurrency, read)) {
    if (observation.status === 'shown') yield observation.record;
    else onGap(id, observation);
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
