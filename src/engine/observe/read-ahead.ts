import { kinds, lookups } from '../../kinds/index.ts';
import type { Kind, LookupRecord, ShownRecord } from '../../kinds/kind.ts';
import { type Address, idKey, kindOf } from '../../manifests/resource.ts';
import type { ResourceEntry } from '../../state/state-document.ts';
import type { Observation } from '../decide/observed.ts';
import { getRecord, internStringsOf, type ObserveOptions, readList } from './read-records.ts';

interface ReadAheadOptions extends Pick<ObserveOptions, 'client' | 'workspaceId' | 'state' | 'concurrency'> {
  now(): Date;
}

/** The result of a read; undefined if it failed too early to keep the failure. */
type Begun<T> = Promise<T | undefined>;

interface WantedRecord {
  readonly kind: Kind;
  readonly entry: ResourceEntry;
  begun: Begun<Observation> | undefined;
}

/**
 * Starts the reads of a plan while the manifests are still being loaded: known records as their declarations appear, and the lists of
 * kinds and lookups in use. Each result is handed out once, so that a second read sees the platform as it is then.
 */
export class ReadAhead {
  /** The time of the first read. */
  readonly since: Date;
  readonly #options: ReadAheadOptions;
  readonly #records = new Map<string, WantedRecord>();
  readonly #lists = new Map<string, Begun<readonly ShownRecord[]>>();
  readonly #lookups = new Map<string, Begun<readonly LookupRecord[]>>();
  /** All lists that were started, including those handed out. */
  readonly #listed = new Set<string>();
  readonly #queue: WantedRecord[] = [];
  #next = 0;
  #running = 0;
  #keepsFailures = false;
  #abandoned = false;

  constructor(options: ReadAheadOptions) {
    this.#options = options;
    this.since = options.now();
  }

  /** Called for each declaration; long texts of its spec are replaced by the same strings of the state. */
  declared(address: Address, spec?: unknown): void {
    const known = this.#options.state.resources.get(address);
    internStringsOf(known, spec);
    if (this.#abandoned) return;
    const kind = kinds.get(kindOf(address));
    if (kind === undefined) return;
    if (kind.list !== undefined) {
      this.#list(kind.name, this.#lists, () => readList(kind, this.#options));
      return;
    }
    const entry = kind.get === undefined ? undefined : known;
    if (entry === undefined || this.#records.has(idKey(kind.name, entry.id))) return;
    const wanted: WantedRecord = { kind, entry, begun: undefined };
    this.#records.set(idKey(kind.name, entry.id), wanted);
    this.#queue.push(wanted);
    this.#begin();
  }

  refersTo(kind: string): void {
    const lookup = lookups.get(kind);
    if (lookup === undefined) return;
    this.#list(kind, this.#lookups, () => readList(lookup, this.#options));
  }

  /**
   * Called when all manifests are loaded. Their secrets are now known to the redactor, so failures may be kept from here on. Records
   * whose read failed before are read again.
   */
  manifestsRead(): void {
    this.#keepsFailures = true;
  }

  /** The read of a record, started now if it was expected but not yet started. */
  record(kind: Kind, id: string): Begun<Observation> | undefined {
    const key = idKey(kind.name, id);
    const wanted = this.#records.get(key);
    this.#records.delete(key);
    if (wanted === undefined || (this.#abandoned && wanted.begun === undefined)) return undefined;
    wanted.begun ??= this.#read(wanted);
    return wanted.begun;
  }

  list(kind: string): Begun<readonly ShownRecord[]> | undefined {
    return taken(this.#lists, kind);
  }

  lookup(name: string): Begun<readonly LookupRecord[]> | undefined {
    return taken(this.#lookups, name);
  }

  #begin(): void {
    while (!this.#abandoned && this.#running < this.#options.concurrency) {
      const wanted = this.#queue[this.#next];
      if (wanted === undefined) return;
      this.#next += 1;
      if (wanted.begun !== undefined) continue;
      this.#running += 1;
      wanted.begun = this.#read(wanted).finally(() => {
        this.#running -= 1;
        this.#begin();
      });
      ignoreFailure(wanted.begun);
    }
  }

  #read({ kind, entry }: WantedRecord): Begun<Observation> {
    const reading = getRecord(kind, { ...this.#options, id: entry.id });
    // Before the result waits: otherwise the prompts of 10,000 records would be held twice.
    const interned = reading.then((seen) => {
      if (seen.status === 'shown') internStringsOf(entry, seen.record);
      return seen;
    });
    return this.#guarded(interned);
  }

  #list<T>(name: string, lists: Map<string, Begun<T>>, read: () => Promise<T>): void {
    if (this.#abandoned || this.#listed.has(name)) return;
    this.#listed.add(name);
    lists.set(name, this.#guarded(read()));
  }

  #guarded<T>(reading: Promise<T>): Begun<T> {
    const guarded = reading.catch((error: unknown): undefined => {
      // A failing platform gets no further requests in advance.
      this.#abandoned = true;
      if (this.#keepsFailures) throw error;
    });
    ignoreFailure(guarded);
    return guarded;
  }
}

/** Marks a promise as handled although nobody awaits it. */
function ignoreFailure(promise: Promise<unknown>): void {
  promise.catch(() => undefined);
}

function taken<T>(begun: Map<string, T>, name: string): T | undefined {
  const found = begun.get(name);
  begun.delete(name);
  return found;
}
