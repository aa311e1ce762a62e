import { kinds, lookups } from '../../kinds/index.ts';
import type { Kind, LookupRecord, ShownRecord } from '../../kinds/kind.ts';
import { type Address, idKey, kindOf } from '../../manifests/resource.ts';
import type { ResourceEntry } from '../../state/state-document.ts';
import type { Observation } from '../decide/observed.ts';
import { getRecord, internStringsOf, type ObserveOptions, readList } from './read-records.ts';

interface ReadAheadOptions extends Pick<ObserveOptions, 'client' | 'workspaceId' | 'state' | 'concurrency'> {
  now(): Date;
}

/** A read in progress. Resolves to undefined if the read fails before `manifestsRead` is called. */
type PendingRead<T> = Promise<T | undefined>;

interface ExpectedRecord {
  readonly kind: Kind;
  readonly entry: ResourceEntry;
  started: PendingRead<Observation> | undefined;
}

/**
 * Starts the reads of a plan while the manifests are still being loaded: managed records, as soon as their manifests are parsed, and the
 * lists of the kinds and lookups in use. Each result is returned only once, so that a second read gets current values.
 */
export class ReadAhead {
  readonly since: Date;
  readonly #options: ReadAheadOptions;
  readonly #records = new Map<string, ExpectedRecord>();
  readonly #lists = new Map<string, PendingRead<readonly ShownRecord[]>>();
  readonly #lookups = new Map<string, PendingRead<readonly LookupRecord[]>>();
  /** The names of all lists whose read was started, including the lists that were already returned. */
  readonly #startedLists = new Set<string>();
  readonly #queue: ExpectedRecord[] = [];
  #next = 0;
  #running = 0;
  #keepsFailures = false;
  #abandoned = false;

  constructor(options: ReadAheadOptions) {
    this.#options = options;
    this.since = options.now();
  }

  /** Called for each declaration. Replaces long strings in its spec with the equal strings of the state. */
  declared(address: Address, spec?: unknown): void {
    const managed = this.#options.state.resources.get(address);
    internStringsOf(managed, spec);
    if (this.#abandoned) return;
    const kind = kinds.get(kindOf(address));
    if (kind === undefined) return;
    if (kind.list !== undefined) {
      this.#list(kind.name, this.#lists, () => readList(kind, this.#options));
      return;
    }
    const entry = kind.get === undefined ? undefined : managed;
    if (entry === undefined || this.#records.has(idKey(kind.name, entry.id))) return;
    const expected: ExpectedRecord = { kind, entry, started: undefined };
    this.#records.set(idKey(kind.name, entry.id), expected);
    this.#queue.push(expected);
    this.#startQueued();
  }

  refersTo(kind: string): void {
    const lookup = lookups.get(kind);
    if (lookup === undefined) return;
    this.#list(kind, this.#lookups, () => readList(lookup, this.#options));
  }

  /**
   * Called when all manifests are loaded. Their secrets are then known and can be redacted from error messages, so later failures are
   * kept. Records whose read failed earlier are read again.
   */
  manifestsRead(): void {
    this.#keepsFailures = true;
  }

  /** Returns the read of a record. Starts a queued read immediately. Returns undefined if no read of the record was requested. */
  record(kind: Kind, id: string): PendingRead<Observation> | undefined {
    const key = idKey(kind.name, id);
    const expected = this.#records.get(key);
    this.#records.delete(key);
    if (expected === undefined || (this.#abandoned && expected.started === undefined)) return undefined;
    expected.started ??= this.#read(expected);
    return expected.started;
  }

  list(kind: string): PendingRead<readonly ShownRecord[]> | undefined {
    return takeOnce(this.#lists, kind);
  }

  lookup(name: string): PendingRead<readonly LookupRecord[]> | undefined {
    return takeOnce(this.#lookups, name);
  }

  #startQueued(): void {
    while (!this.#abandoned && this.#running < this.#options.concurrency) {
      const expected = this.#queue[this.#next];
      if (expected === undefined) return;
      this.#next += 1;
      if (expected.started !== undefined) continue;
      this.#running += 1;
      expected.started = this.#read(expected).finally(() => {
        this.#running -= 1;
        this.#startQueued();
      });
      ignoreFailure(expected.started);
    }
  }

  #read({ kind, entry }: ExpectedRecord): PendingRead<Observation> {
    const reading = getRecord(kind, { ...this.#options, id: entry.id });
    // Intern strings before the result is stored. Otherwise, the prompts of 10,000 records would be in memory twice.
    const interned = reading.then((observation) => {
      if (observation.status === 'shown') internStringsOf(entry, observation.record);
      return observation;
    });
    return this.#guarded(interned);
  }

  #list<T>(name: string, lists: Map<string, PendingRead<T>>, read: () => Promise<T>): void {
    if (this.#abandoned || this.#startedLists.has(name)) return;
    this.#startedLists.add(name);
    lists.set(name, this.#guarded(read()));
  }

  #guarded<T>(reading: Promise<T>): PendingRead<T> {
    const guarded = reading.catch((error: unknown): undefined => {
      // Do not send further requests ahead of time to a failing platform.
      this.#abandoned = true;
      if (this.#keepsFailures) throw error;
    });
    ignoreFailure(guarded);
    return guarded;
  }
}

/** Prevents an unhandled rejection if nothing awaits the promise. */
function ignoreFailure(promise: Promise<unknown>): void {
  promise.catch(() => undefined);
}

function takeOnce<T>(started: Map<string, T>, name: string): T | undefined {
  const found = started.get(name);
  started.delete(name);
  return found;
}
