import type { Kind, Lookup, PublishedRecord, ShownRecord } from '../../kinds/kind.ts';
import type { PlatformClient } from '../../platform/client.ts';
import { PlatformError } from '../../platform/errors.ts';
import { UserError } from '../../problems/user-error.ts';
import type { State } from '../../state/state.ts';
import type { ReadProgress } from '../apply/report.ts';

export interface ObserveOptions {
  readonly client: PlatformClient;
  readonly kinds: ReadonlyMap<string, Kind>;
  readonly lookups: ReadonlyMap<string, Lookup>;
  readonly workspaceId: string;
  /** What a command line needs to mean this workspace, such as ` -w staging`; nothing where there is only one. */
  readonly workspaceFlag?: string | undefined;
  readonly state: State;
  readonly concurrency: number;
  /** False: recorded records are not read; only what is nowhere recorded is looked for. */
  readonly refresh: boolean;
  /** Do not take it for a wrong key when every recorded record is missing. */
  readonly evenIfAll: boolean;
  onProgress?(progress: ReadProgress): void;
}

export type Observation =
  | {
      readonly status: 'shown';
      readonly record: ShownRecord;
      readonly published?: PublishedRecord | undefined;
      /** Present when it was found by its natural key, because the record with the id that is remembered is not there. */
      readonly successor?: true;
    }
  /** The platform says that it has no record with the id that is remembered. It may be back with the next read. */
  | { readonly status: 'missing' }
  /** No id is known, and the platform's lists hold nothing of that natural key. */
  | { readonly status: 'absent' }
  /** The record with the id that is remembered belongs to another workspace, into which nothing is written. */
  | { readonly status: 'foreign'; readonly workspaceId: string }
  /** Not read, because the caller wanted no refresh: memory stands in for it. */
  | { readonly status: 'remembered' };

/** Reads one record of a kind that cannot be listed. A record that is not there is an observation, not an error. */
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
    if (error instanceof PlatformError && error.saysMissing) return { status: 'missing' };
    throw error;
  }
}

/** Looks at the platform again, some time after a plan did. */
export interface SecondLook {
  /** One record of any kind. */
  at(kind: Kind, id: string): Promise<Observation>;
  /** Whether a list shows a record with this natural key. False for kinds that cannot be listed. */
  holdsKey(kind: Kind, key: string): Promise<boolean>;
  /** The records with this natural key, as a list shows them now. None for kinds that cannot be listed. */
  withKey(kind: Kind, key: string): Promise<readonly ShownRecord[]>;
}

/** A kind that can only be listed is listed once for all that ask within `maxAgeMilliseconds`. */
export function createSecondLook(
  { client, workspaceId }: Pick<ObserveOptions, 'client' | 'workspaceId'>,
  { maxAgeMilliseconds, now }: { maxAgeMilliseconds: number; now(): Date },
): SecondLook {
  const lists = new Map<string, { readonly at: number; readonly listed: Promise<Listed> }>();
  const listOf = (kind: Kind): Promise<Listed> => {
    let recent = lists.get(kind.name);
    if (recent === undefined || now().getTime() - recent.at > maxAgeMilliseconds) {
      recent = { at: now().getTime(), listed: listAll(kind, { client, workspaceId }) };
      lists.set(kind.name, recent);
    }
    return recent.listed;
  };
  return {
    async at(kind, id) {
      if (kind.get !== undefined) return getRecord(kind, { id, client, workspaceId });
      if (kind.list === undefined) return { status: 'absent' };
      const record = (await listOf(kind)).byId.get(id);
      return record === undefined ? unlisted(id, client) : { status: 'shown', record };
    },
    holdsKey: async (kind, key) => kind.list !== undefined && (await listOf(kind)).byKey.has(key),
    async withKey(kind, key) {
      if (kind.list === undefined) return [];
      return (await listAll(kind, { client, workspaceId })).byKey.get(key) ?? [];
    },
  };
}

/** What becomes of an id that no record of a list has. */
export function unlisted(id: string, { sightings }: PlatformClient): Observation {
  const workspaceId = sightings.workspaceOf(id);
  return workspaceId === undefined ? { status: 'missing' } : { status: 'foreign', workspaceId };
}

interface Listed {
  readonly byId: ReadonlyMap<string, ShownRecord>;
  readonly byKey: ReadonlyMap<string | undefined, readonly ShownRecord[]>;
}

async function listAll(
  kind: Kind,
  { client, workspaceId }: Pick<ObserveOptions, 'client' | 'workspaceId'>,
): Promise<Listed> {
  const shown = await collect(() => kind.list?.(client) ?? none(), {
    workspaceId,
    progress: new Counter(undefined),
  });
  return {
    byId: new Map(shown.map((record) => [record.id, record])),
    byKey: Map.groupBy(shown, (record) => kind.recordKey?.(record)),
  };
}

async function* none(): AsyncGenerator<ShownRecord> {}

export interface Collecting {
  readonly workspaceId: string;
  readonly progress: Counter;
}

/** All records of a list. */
export async function collect<T>(
  list: () => AsyncIterable<T>,
  { workspaceId, progress }: Collecting,
): Promise<T[]> {
  const all: T[] = [];
  try {
    await progress.list(async () => {
      for await (const record of list()) {
        all.push(record);
        progress.expect(1);
        progress.done(1);
      }
    });
  } catch (error) {
    if (error instanceof PlatformError && (error.saysMissing || error.status === 403)) {
      throw new UserError(`${error.message}: the workspace ${workspaceId} cannot be read`, {
        hint: error.saysMissing
          ? 'Check base_url, which ends before /api/v1, and that workspace_id and api_key belong together.'
          : 'Check that workspace_id and api_key belong together.',
        cause: error,
      });
    }
    throw error;
  }
  return all;
}

/** At most `concurrency` at once; the first failure ends it. */
export async function eachConcurrently<T>(
  items: readonly T[],
  concurrency: number,
  run: (item: T) => Promise<void>,
): Promise<void> {
  const queue = items.values();
  let failed = false;
  const worker = async (): Promise<void> => {
    for (const item of queue) {
      if (failed) return;
      try {
        await run(item);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, worker));
}

/** Counts reads for whoever shows the progress. */
export class Counter {
  #done = 0;
  #total = 0;
  #inFlight = 0;
  #lists = 0;
  readonly #tell: ((progress: ReadProgress) => void) | undefined;

  constructor(tell: ((progress: ReadProgress) => void) | undefined) {
    this.#tell = tell;
  }

  expect(count: number): void {
    this.#total += count;
  }

  done(count: number): void {
    this.#done += count;
    this.#told();
  }

  /** Does the reading of one record that was expected. */
  async single(read: () => Promise<void>): Promise<void> {
    this.#inFlight += 1;
    try {
      await read();
    } finally {
      this.#inFlight -= 1;
    }
    this.done(1);
  }

  /** Does the reading of a list, whose length shows at its end. */
  async list(read: () => Promise<void>): Promise<void> {
    this.#lists += 1;
    try {
      await read();
    } finally {
      this.#lists -= 1;
    }
  }

  #told(): void {
    this.#tell?.({
      done: this.#done,
      total: this.#total,
      inFlight: this.#inFlight,
      growing: this.#lists > 0,
    });
  }
}
