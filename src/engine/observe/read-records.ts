import type { Kind, ShownRecord } from '../../kinds/kind.ts';
import type { Address, Resource } from '../../manifests/resource.ts';
import type { PlatformClient } from '../../platform/client.ts';
import { PlatformError } from '../../platform/platform-error.ts';
import { UserError } from '../../problems/user-error.ts';
import type { State } from '../../state/state.ts';
import type { ResourceEntry } from '../../state/state-document.ts';
import { isObject } from '../../values/json.ts';
import { valueAt } from '../../values/path.ts';
import type { Binding } from '../decide/bind.ts';
import type { Observation } from '../decide/observed.ts';

/** Reads one record by id. If it does not exist, returns an observation instead of throwing. */
export async function getRecord(
  kind: Kind,
  { id, client, workspaceId }: { id: string } & Pick<ObserveOptions, 'client' | 'workspaceId'>,
): Promise<Observation> {
  try {
    const record = await kind.get?.(client, id);
    if (record === undefined) return { status: 'absent' };
    const actual = record.workspace_id ?? workspaceId;
    if (actual !== workspaceId) return { status: 'foreign', workspaceId: actual };
    return { status: 'shown', record };
  } catch (error) {
    if (error instanceof PlatformError && error.isMissing) return { status: 'missing' };
    throw error;
  }
}

export function observationWithoutRecord(id: string, { workspaceCheck }: PlatformClient): Observation {
  const workspaceId = workspaceCheck.workspaceOf(id);
  return workspaceId === undefined ? { status: 'missing' } : { status: 'foreign', workspaceId };
}

/** The minimum length of a string that is shared, in characters. Prompts have thousands of characters. */
const MIN_SHARED_LENGTH = 256;

/**
 * Replaces long strings in a spec or a record with the equal strings of the state entry, so that each of 10,000 prompts is in memory
 * only once. Mutates the target, which was just read, but changes no value.
 */
export function internStringsOf(entry: ResourceEntry | undefined, target: unknown): void {
  for (const [path, text] of Object.entries(entry?.recorded ?? {})) {
    if (typeof text !== 'string' || text.length < MIN_SHARED_LENGTH || valueAt(target, path) !== text) continue;
    const dot = path.lastIndexOf('.');
    const parent = dot === -1 ? target : valueAt(target, path.slice(0, dot));
    if (isObject(parent)) (parent as Record<string, unknown>)[path.slice(dot + 1)] = text;
  }
}

export interface ObserveOptions {
  readonly client: PlatformClient;
  readonly workspaceId: string;
  readonly state: State;
  readonly concurrency: number;
  /** If false, records that have a state entry are not read. All other records are. */
  readonly refresh: boolean;
  /** If true, the run continues even if all recorded records are missing. By default it fails, because the API key may be wrong. */
  readonly evenIfAll: boolean;
  readonly onProgress?: OnReadProgress;
}

/** Returns all records of a kind or a lookup, or an empty array if the platform cannot list them. */
export async function readList<T>(
  source: { list?(client: PlatformClient): AsyncIterable<T> },
  { client, workspaceId }: Pick<ObserveOptions, 'client' | 'workspaceId'>,
  progress = new ReadCounter(),
): Promise<T[]> {
  const all: T[] = [];
  try {
    await progress.list(async () => {
      for await (const record of source.list?.(client) ?? []) {
        all.push(record);
        progress.expect(1);
        progress.done(1);
      }
    });
  } catch (error) {
    if (error instanceof PlatformError && (error.isMissing || error.isForbidden)) {
      throw new UserError(`${error.message}: cannot read workspace ${workspaceId}`, {
        hint: error.isMissing
          ? 'Check base_url (without /api/v1), workspace_id and api_key.'
          : 'Check workspace_id and api_key: the key must belong to that workspace.',
        cause: error,
      });
    }
    throw error;
  }
  return all;
}

/**
 * Yields the observation of each resource, based on a list: the record with the recorded id, or else the record with the natural key.
 * @throws UserError if several records have the natural key.
 */
export function* matchToList(
  kind: Kind,
  members: readonly Binding[],
  { shown, client }: { readonly shown: readonly ShownRecord[]; readonly client: PlatformClient },
): Generator<[Address, Observation]> {
  const byId = new Map(shown.map((record) => [record.id, record]));
  const byKey = Map.groupBy(shown, (record) => kind.naturalKeyOf?.(record));
  const problems: string[] = [];
  for (const { resource, id, pending, released } of members) {
    const { address } = resource;
    const isRecorded = id !== undefined && pending === undefined && released === undefined;
    const recorded = isRecorded ? byId.get(id) : undefined;
    if (recorded !== undefined) {
      yield [address, { status: 'shown', record: recorded }];
      continue;
    }
    if (isRecorded && id === resource.id) {
      yield [address, observationWithoutRecord(id, client)];
      continue;
    }
    const key = pending?.natural_key ?? kind.naturalKey?.(resource.spec)?.key;
    const [record, ...others] = key === undefined ? [] : (byKey.get(key) ?? []);
    const wasKnown = isRecorded || (pending === undefined && released !== undefined);
    if (record === undefined) {
      yield [address, isRecorded ? observationWithoutRecord(id, client) : { status: wasKnown ? 'missing' : 'absent' }];
    } else if (others.length > 0) problems.push(ambiguityProblem(resource, [record, ...others]));
    else yield [address, { status: 'shown', record, ...(isRecorded && { successor: true as const }) }];
  }
  if (problems.length === 0) return;
  throw new UserError(problems.sort().join('\n'), { hint: 'Set metadata.id to the id of the correct record.' });
}

function ambiguityProblem({ address, source }: Resource, records: readonly ShownRecord[]): string {
  const ids = records.map((record) => record.id).sort();
  return `${source.file}:${source.line}  ${address} matches ${ids.length} records: ${ids.join(', ')}`;
}

/** The progress of reading, in records. */
export interface ReadProgress {
  readonly done: number;
  /** The number of records known so far. */
  readonly total: number;
  /** The number of single-record reads in flight. */
  readonly inFlight: number;
  /** True while a list is being read. `total` may then still increase. */
  readonly growing: boolean;
}

export type OnReadProgress = ((progress: ReadProgress) => void) | undefined;

export class ReadCounter {
  #done = 0;
  #total = 0;
  #inFlight = 0;
  #lists = 0;
  readonly #onProgress: OnReadProgress;
  readonly #client: Pick<PlatformClient, 'atOnce'> | undefined;

  /** @param client its concurrency limit caps the reported number of reads in flight. */
  constructor(onProgress?: OnReadProgress, client?: Pick<PlatformClient, 'atOnce'>) {
    this.#onProgress = onProgress;
    this.#client = client;
  }

  expect(count: number): void {
    this.#total += count;
  }

  done(count: number): void {
    this.#done += count;
    this.#notify();
  }

  /** Runs the read of one expected record, and counts it. */
  async single(read: () => Promise<void>): Promise<void> {
    this.#inFlight += 1;
    try {
      await read();
    } finally {
      this.#inFlight -= 1;
    }
    this.done(1);
  }

  /** Runs the read of a list. The number of records is unknown until the read ends. */
  async list(read: () => Promise<void>): Promise<void> {
    this.#lists += 1;
    try {
      await read();
    } finally {
      this.#lists -= 1;
    }
  }

  #notify(): void {
    this.#onProgress?.({
      done: this.#done,
      total: this.#total,
      inFlight: Math.min(this.#inFlight, this.#client?.atOnce() ?? this.#inFlight),
      growing: this.#lists > 0,
    });
  }
}
