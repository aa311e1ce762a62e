import type { Observation } from '../engine/decide/observed.ts';
import { addClause, gatherMentions, type MentionsById } from '../engine/observe/mentions.ts';
import { getRecord } from '../engine/observe/read-record.ts';
import type { Kind, ShownRecord } from '../kinds/kind.ts';
import type { PlatformClient } from '../platform/client.ts';
import type { RecordReads } from './orphan-status.ts';

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

interface MentionSearch {
  readonly client: PlatformClient;
  /** Known ids: from a person or a state. */
  readonly known: readonly KnownId[];
  /** Follows mentions since this time; undefined for those that a few requests return. */
  readonly since: Date | undefined;
  /** Receives the sources that could not be read. */
  readonly missed: Missed[];
}

/** The ids of an unlisted kind: known ones first, then those that other records mention, each with its clauses. */
export async function mentionedIds(
  kind: Kind,
  { client, known, since, missed }: MentionSearch,
): Promise<MentionsById> {
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

export function knownOf({ name }: Kind, known: readonly KnownId[]): Map<string, string[]> {
  const ids = new Map<string, string[]>();
  for (const { kind, id, clause } of known) if (kind === name) addClause(ids, { id, clause });
  return ids;
}

interface MentionedReading extends RecordReads {
  /** Called for ids without a record in this workspace. */
  onGap(id: string, seen: Observation): void;
}

/** The records with these ids, in order, with several reads at once. */
export async function* readMentioned(
  kind: Kind,
  ids: Iterable<string>,
  { client, workspaceId, concurrency, onGap }: MentionedReading,
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
