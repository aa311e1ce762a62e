import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { errorMessage } from '../../../problems/error-code.ts';
import { advice, command, UserError } from '../../../problems/user-error.ts';
import { tryParseJson } from '../../../values/json.ts';
import { lazy } from '../../../values/lazy.ts';
import { LostState } from '../../state-errors.ts';
import type { StateBackend, StoreUser } from '../backend.ts';
import { changed } from '../object-store/change.ts';
import {
  type Change,
  clocklessTiming,
  NO_CONTENT,
  type ObjectStore,
  type OtherContent,
  type StoredContent,
  storedLock,
  WriteConflict,
  withHeartbeatAge,
} from '../object-store/object-store.ts';
import { flowMapping } from '../settings.ts';
import type { Bucket, BucketLocation, PutCondition } from './bucket.ts';

/** The maximum number of characters of the journal or the history in the head. A longer part is moved to a separate object. */
const MAX_INLINE_LENGTH = 32 * 1024;
const MAX_HISTORY_OBJECTS = 64;
const MAX_EARLIER = 10;
/** The maximum number of attempts to read the state while it changes. */
const MAX_READS = 4;

/** The maximum number of states of other workspaces that are searched before a first state is created. */
const MAX_SIBLINGS = 200;

const HOUR_MS = 3_600_000;
/** The minimum age for removing an unreferenced object. A newer one may belong to a write in flight, or to a reader's earlier head. */
const MIN_UNUSED_MS = 24 * HOUR_MS;

interface BucketStoreOptions<Location extends BucketLocation> {
  /** The name of the backend in the project file. */
  readonly name: string;
  readonly backend: Pick<StateBackend<never, Location>, 'describe' | 'locationSetting'>;
  readonly settings: Location;
  readonly user: StoreUser;
  open(settings: Location, location: string): Promise<Bucket>;
}

interface CachedState {
  readonly head: Head;
  readonly content: StoredContent;
}

/**
 * A state in a bucket. The head is the only object that is replaced, and only if no other run has replaced it. The document and the older
 * lines of the journal and the history are objects that never change. A write takes at most two requests, except for the first write, a
 * conversion and a cleanup.
 */
export function createBucketStore<Location extends BucketLocation>(options: BucketStoreOptions<Location>): ObjectStore {
  const { name: backendName, backend, settings, user, open } = options;
  const location = backend.describe(settings, user.root);
  const setting = `state.${backend.locationSetting}`;
  let known: CachedState | undefined;
  /** The objects of the last head, by name. */
  let objects = new Map<string, Uint8Array>();

  const bucketOf = lazy(() => open(settings, location));

  /** Returns the objects; undefined if the head has changed. @throws LostState if an object is missing although the head refers to it. */
  const objectsOf = async (
    names: readonly string[],
    tag: string,
    signal: AbortSignal,
  ): Promise<readonly Uint8Array[] | undefined> => {
    const found: Uint8Array[] = [];
    for (const name of names) {
      const bytes = objects.get(name) ?? (await (await bucketOf()).get(name, signal))?.bytes;
      if (bytes === undefined) {
        const now = await (await bucketOf()).get(HEAD, signal);
        if (now?.tag !== tag) return undefined;
        throw new LostState(`the object ${name} of the state ${location} is missing`, {
          hint: 'Restore it from an earlier version in the bucket.',
        });
      }
      found.push(bytes);
    }
    return found;
  };

  const readKnown = async (signal: AbortSignal): Promise<CachedState | undefined> => {
    for (let attempt = 1; attempt <= MAX_READS; attempt++) {
      const stored = await (await bucketOf()).get(HEAD, signal);
      if (stored === undefined) return undefined;
      const { bytes, tag } = stored;
      if (known?.content.revision === tag) return known;
      const head = parseHead(bytes, { location, setting });
      const names = [...(head.state === null ? [] : [head.state]), ...head.journal];
      const parts = await objectsOf(names, tag, signal);
      if (parts === undefined) continue;
      objects = new Map(names.map((name, index) => [name, parts[index] ?? new Uint8Array()]));
      const journal = head.state === null ? parts : parts.slice(1);
      known = {
        head,
        content: {
          revision: tag,
          write: head.write,
          state: head.state === null ? undefined : parts[0],
          journal: Buffer.concat([...journal, Buffer.from(head.journal_end)]),
          lock: head.lock ?? undefined,
          secondsSinceHeartbeat: undefined,
        },
      };
      return known;
    }
    throw new Error('the state keeps changing');
  };

  /** Returns the head of the content; undefined before the first write. */
  const headOf = async (base: StoredContent, signal: AbortSignal): Promise<Head | undefined> => {
    if (known !== undefined && known.content.revision === base.revision) return known.head;
    const now = await readKnown(signal);
    if (now?.content.revision !== base.revision) throw new WriteConflict();
    return now?.head;
  };

  /** Removes objects that are older than `minAge` milliseconds and that the head does not refer to. */
  const clean = async (head: Head, minAge: number, signal: AbortSignal): Promise<void> => {
    const bucket = await bucketOf();
    const listed = await bucket.list(signal);
    const now = listed.find(({ name }) => name === HEAD)?.modified.getTime();
    if (now === undefined) return;
    const used = new Set([HEAD, head.state, ...head.journal, ...head.history]);
    for (const { name, modified } of listed) {
      if (!used.has(name) && isOurs(name) && now - modified.getTime() > minAge) await bucket.remove(name, signal);
    }
  };

  return {
    location,
    setting,
    timing: clocklessTiming,
    async read(signal) {
      return withHeartbeatAge((await readKnown(signal))?.content ?? NO_CONTENT, user.now());
    },
    async write(change, base, signal) {
      const bucket = await bucketOf();
      const current = (await headOf(base, signal)) ?? newHead(await probe(bucket, location, signal), user.now());
      const { head, added } = nextHead(current, change);
      const isCleaning = change.lock === null && user.now().getTime() - Date.parse(current.cleaned) > HOUR_MS;
      if (isCleaning) head.cleaned = user.now().toISOString();
      for (const [name, bytes] of added) await bucket.put(name, bytes, signal);
      const condition =
        base.revision === undefined ? ({ isAbsent: true } as const) : { tag: base.revision, isBare: head.bare_tags };
      const bytes = Buffer.from(`${JSON.stringify(head, null, 2)}\n`);
      const tag = await bucket.put(HEAD, bytes, signal, condition).catch(async (error) => {
        if (!(error instanceof WriteConflict)) throw error;
        // Some stores refuse one of two overlapping writes even if the other write fails.
        const isUnchanged = (await readKnown(signal))?.content.revision === base.revision;
        throw isUnchanged ? new Error('the store refused a write although the state is unchanged') : error;
      });
      const content = changed(base, change, tag);
      known = { head, content };
      for (const [name, bytes] of added) objects.set(name, bytes);
      if (change.converted !== undefined) {
        await clean(head, -HOUR_MS, signal).catch((error) =>
          user.warn?.(`cannot remove the objects of ${location} that the conversion replaced: ${errorMessage(error)}`),
        );
      } else if (isCleaning) {
        await clean(head, MIN_UNUSED_MS, signal).catch((error) => user.debug?.(`${location}: ${errorMessage(error)}`));
      }
      return content;
    },
    async history(signal) {
      for (let attempt = 1; attempt <= MAX_READS; attempt++) {
        const current = await readKnown(signal);
        if (current === undefined) return [];
        const parts = await objectsOf(current.head.history, current.content.revision ?? '', signal);
        if (parts === undefined) continue;
        const text = Buffer.concat([...parts, Buffer.from(current.head.history_end)]).toString();
        return text.split('\n').filter((line) => line !== '');
      }
      throw new Error('the state keeps changing');
    },
    async others(workspaceId, signal) {
      const bucket = await bucketOf();
      // Access to other states may be denied, because each state may have its own access policy.
      const problems: string[] = [];
      const noteDenied = (error: unknown): readonly [] => {
        if (!(error instanceof UserError) || error instanceof LostState) throw error;
        problems.push(error.message);
        return [];
      };
      const keys = await bucket.siblings(signal).catch(noteDenied);
      if (keys.length > MAX_SIBLINGS) problems.push(`only ${MAX_SIBLINGS} of ${keys.length} states are searched`);
      const found = keys.slice(0, MAX_SIBLINGS).map(async (key): Promise<OtherContent[]> => {
        const other = { ...settings, [backend.locationSetting]: key };
        const otherLocation = backend.describe(other, user.root);
        const bucket = await open(other, otherLocation);
        const stored = await bucket.get(HEAD, signal);
        const head = stored && headIn(stored.bytes);
        if (head === undefined || (head.workspace_id ?? workspaceId) !== workspaceId) return [];
        const store = createBucketStore({ ...options, settings: other, open: async () => bucket });
        const { state, journal, lock } = await store.read(signal);
        const { isFetched: _, ...otherSettings } = other;
        const from = flowMapping({ backend: backendName, ...otherSettings });
        return [{ state, journal, isLocked: lock !== undefined, location: otherLocation, from }];
      });
      const others = (await Promise.all(found.map((each) => each.catch(noteDenied)))).flat();
      if (problems.length > 0)
        user.warn?.(`cannot check all states of other workspaces next to ${location}: ${problems[0]}`);
      return others;
    },
    async earlier(signal) {
      const bucket = await bucketOf();
      const current = (await readKnown(signal))?.head.state;
      const listed = (await bucket.list(signal))
        .filter(({ name }) => name.endsWith('.state') && isOurs(name) && name !== current)
        .toSorted((a, b) => b.modified.getTime() - a.modified.getTime());
      const found = listed.slice(0, MAX_EARLIER).map(async ({ name, modified }) => {
        const stored = await bucket.get(name, signal);
        return stored === undefined
          ? []
          : [{ source: `${location}/${name} of ${modified.toISOString()}`, bytes: stored.bytes }];
      });
      return (await Promise.all(found)).flat();
    },
  };
}

function isOurs(name: string): boolean {
  return /^[0-9a-f-]{36}\.(?:state|journal|history|probe)$/.test(name);
}

/** Returns the head after the change, and the new objects that the head refers to. */
function nextHead(before: Head, change: Change): { head: Head; added: ReadonlyMap<string, Uint8Array> } {
  const { write, state, document, journal, lock, history, converted } = change;
  const head: Head = { ...before, write };
  const added = new Map<string, Uint8Array>();
  const add = (kind: string, bytes: Uint8Array): string => {
    const name = `${write}.${kind}`;
    added.set(name, bytes);
    return name;
  };
  if (lock !== undefined) head.lock = lock && { ...lock };
  if (state !== undefined) {
    head.state = state && add('state', state);
    head.lineage = document?.lineage ?? null;
    head.serial = document?.serial ?? null;
    head.workspace_id = document?.workspace_id ?? null;
  }
  if (journal === null) Object.assign(head, { journal: [], journal_end: '' });
  if (journal) {
    head.journal_end += Buffer.from(journal).toString();
    if (head.journal_end.length > MAX_INLINE_LENGTH && added.size === 0) {
      head.journal = [...head.journal, add('journal', Buffer.from(head.journal_end))];
      head.journal_end = '';
    }
  }
  if (converted !== undefined) {
    head.history = [add('history', Buffer.from(converted.history.map((line) => `${line}\n`).join('')))];
    head.history_end = '';
  }
  if (history !== undefined) {
    head.history_end += `${history}\n`;
    if (head.history_end.length > MAX_INLINE_LENGTH && added.size === 0) {
      const all = [...head.history, add('history', Buffer.from(head.history_end))];
      head.history = all.slice(-MAX_HISTORY_OBJECTS);
      head.history_end = '';
    }
  }
  return { head, added };
}

/** The only object that is replaced. */
const HEAD = 'head.json';

const part = (kind: string) => z.string().regex(new RegExp(`^[0-9a-f-]{36}\\.${kind}$`));

const head = lazy(() =>
  z.looseObject({
    version: z.literal(1),
    /** The id of the last write (`Change.write`). */
    write: z.string(),
    lock: storedLock().nullable(),
    /** Lineage and serial of the document, for people who read the file; null if the object only records that the state was moved. */
    lineage: z.string().nullable(),
    serial: z.number().nullable(),
    /** The workspace id of the document. Earlier versions of voxform did not write this field. */
    workspace_id: z.string().nullish(),
    /** Name of the object with the document; null if there is no document. */
    state: part('state').nullable(),
    /** Names of the objects with the journal. The last lines of the journal are in `journal_end`. */
    journal: z.array(part('journal')),
    journal_end: z.string(),
    /** Names of the objects with the history. The last lines of the history are in `history_end`. */
    history: z.array(part('history')),
    history_end: z.string(),
    /** True if the store matches ETags only without quotes. */
    bare_tags: z.boolean(),
    /** The time when unused objects were last removed, in ISO 8601. */
    cleaned: z.string(),
  }),
);

type Head = z.infer<ReturnType<typeof head>>;

function newHead(bareTags: boolean, now: Date): Head {
  return {
    version: 1,
    write: '',
    lock: null,
    lineage: null,
    serial: null,
    state: null,
    journal: [],
    journal_end: '',
    history: [],
    history_end: '',
    bare_tags: bareTags,
    cleaned: now.toISOString(),
  };
}

/** Returns the head of a state; undefined if the bytes are not a head. */
function headIn(bytes: Uint8Array): Head | undefined {
  return head().safeParse(tryParseJson(Buffer.from(bytes).toString())).data;
}

/** @throws UserError if the bytes are not the head of a state. */
function parseHead(bytes: Uint8Array, { location, setting }: Pick<ObjectStore, 'location' | 'setting'>): Head {
  const found = headIn(bytes);
  if (found !== undefined) return found;
  throw new UserError(`${location}/${HEAD} is not a state that this version of voxform can read`, {
    hint: advice`Nothing was changed. Set ${setting} to a value that nothing else uses, or upgrade voxform. If ${HEAD} is damaged, restore an earlier version of it. If the bucket keeps no versions, copy ${HEAD} and the newest object ending in .state, delete ${HEAD}, and run ${command('state push FILE')}`,
  });
}

/**
 * Checks with a temporary object that the store honors conditions. Without conditions, two runs could both hold the lock.
 * @returns true if the store matches ETags only without quotes.
 * @throws UserError if the store ignores a condition.
 */
async function probe(bucket: Bucket, location: string, signal: AbortSignal): Promise<boolean> {
  const name = `${randomUUID()}.probe`;
  let count = 0;
  /** @returns the new tag; undefined if the condition is not met. */
  const put = async (condition: PutCondition): Promise<string | undefined> => {
    count += 1;
    try {
      return await bucket.put(name, Buffer.from(`${name} ${count}`), signal, condition);
    } catch (error) {
      if (error instanceof WriteConflict) return undefined;
      throw error;
    }
  };
  const refused = (header: string): UserError =>
    new UserError(`the store of ${location} ignores the ${header} condition of a write`, {
      hint: 'Two runs could both hold the lock there. Use Amazon S3 or another store with conditional writes. With Ceph, use a bucket with versioning disabled.',
    });
  try {
    const first = await put({ isAbsent: true });
    if (first === undefined) throw new Error('a new object could not be stored');
    if ((await put({ isAbsent: true })) !== undefined) throw refused('If-None-Match');
    const other = '0123456789abcdef0123456789abcdef';
    if ((await put({ tag: other })) !== undefined) throw refused('If-Match');
    if ((await put({ tag: first })) !== undefined) return false;
    if ((await put({ tag: other, isBare: true })) !== undefined) throw refused('If-Match');
    if ((await put({ tag: first, isBare: true })) !== undefined) return true;
    throw new UserError(`the store of ${location} rejects the If-Match condition although the tag is current`, {
      hint: 'Use Amazon S3, or another store with conditional writes.',
    });
  } finally {
    await bucket.remove(name, signal).catch(() => undefined);
  }
}
