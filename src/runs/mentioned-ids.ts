import type { Observation } from '../engine/decide/observed.ts';
import { addClause, gatherMentions, type MentionsById } from '../engine/observe/mentions.ts';
import { getRecord } from '../engine/observe/read-record.ts';
import type { Kind, ShownRecord } from '../kinds/kind.ts';
import type { PlatformClient } from '../platform/client.ts';
import type { RecordReads } from './orphan-status.ts';

export interface KnownId {
  readonly kind: string;
  readonly id: string;
  /** Where it is known from, as a clause, e.g. `it was named`. */
  readonly clause: string;
}

/** Something that may exist and was not read. */
export interface Missed {
  readonly kind: string;
  /** Absent where it is about the whole kind. */
  readonly id?: string;
  readonly because: string;
}

interface MentionSearch {
  readonly client: PlatformClient;
  /** Ids that are known already: given by a person, held by a state. */
  readonly known: readonly KnownId[];
  /** Mentions from then on are followed; undefined: those that a few requests give. */
  readonly since: Date | undefined;
  /** Told of sources that could not be read. */
  readonly missed: Missed[];
}

/** The ids of a kind that no list shows: those that are known first, then those that other records mention, each with its clauses. */
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
  /** Told of ids that lead to no record of this workspace. */
  onGap(id: string, seen: Observation): void;
}

/** The records with these ids, in their order, read several at once. */
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
    // Awaited below, unless one before it fails or nobody asks for more.
    result.catch(() => undefined);
    running.push(result);
    const [first] = running;
    if (running.length < concurrency || first === undefined) continue;
    running.shift();
    yield await first;
  }
  for (const result of running) yield await result;
}
