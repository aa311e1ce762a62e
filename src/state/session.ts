import { randomUUID } from 'node:crypto';
import { UserError } from '../problems/user-error.ts';
import { jsonEqual } from '../values/json.ts';
import { shareRun } from '../values/lazy.ts';
import { emptyDocument, type FoldedState, fold } from './fold.ts';
import type { JournalEvent } from './journal-lines.ts';
import type { LockHolder, LockInfo } from './lock-info.ts';
import { changeOf, deadRunOf, endingAfter } from './run-ending.ts';
import type { RunEnding, RunResources } from './run-history.ts';
import type { FreshState, State } from './state.ts';
import type { StateDocument } from './state-document.ts';
import { olderState } from './state-errors.ts';
import type { LockRequest, StateLease, StateStore, StoredState } from './store.ts';

export interface SessionOptions {
  readonly lock: LockRequest;
  readonly workspaceId: string;
  /** Used if there is no state yet. */
  readonly fresh: FreshState;
  /** Called if there is no state yet. Throws if no state may be created. */
  readonly onMissing?: (() => Promise<void>) | undefined;
  /** Version of voxform, for the document. */
  readonly version: string;
  now(): Date;
  /** Called with a warning if the state is older than the last known one. If absent, an older state is refused. */
  readonly allowOlder?: ((warning: string) => void) | undefined;
}

interface StateReading extends Pick<SessionOptions, 'workspaceId' | 'fresh' | 'onMissing'> {
  /** Called if the state is older than the last known one. */
  readonly onOlder?: ((older: UserError) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called if another run holds the lock. */
  readonly onHolder?: ((holder: LockHolder) => void) | undefined;
}

/**
 * Reads the current state, for commands that only read. Takes no lock and changes nothing.
 * @throws UserError if the state cannot be read, or belongs to another workspace.
 */
export async function readState(
  store: StateStore,
  { workspaceId, fresh, signal, onMissing, onOlder, onHolder }: StateReading,
): Promise<State> {
  const stored = await store.read(signal);
  if (stored.holder !== undefined) onHolder?.(stored.holder);
  checkWorkspace(stored, workspaceId, store);
  if (stored.document === undefined) await onMissing?.();
  const older = olderIn(stored, store.location);
  if (older !== undefined) onOlder?.(older);
  return fold(stored.document ?? emptyDocument(fresh, workspaceId, ''), stored.journal);
}

/**
 * Takes the lock and reads the state. If a dead run left a journal, merges it into the document immediately.
 * @throws UserError like the methods of `StateStore`, and if the state belongs to another workspace or is older than the last known one.
 * The lock is then released.
 */
export async function openSession(store: StateStore, options: SessionOptions): Promise<StateSession> {
  const lease = await store.lock(options.lock);
  try {
    const stored = await lease.read();
    checkWorkspace(stored, options.workspaceId, store);
    if (stored.document === undefined) await options.onMissing?.();
    admitOlder(stored, store.location, options.allowOlder);
    const document = stored.document ?? emptyDocument(options.fresh, options.workspaceId, options.version);
    const state = fold(document, stored.journal);
    // A serial above all known ones, so that the next document does not look older.
    const next = Math.max(state.serial, stored.newer?.serial ?? 0) + 1;
    const isNew = stored.document === undefined;
    if (stored.journal.length === 0) return new StateSession(lease, state, { ...options, isNew, next });
    const died = await deadRunOf(store, lease, stored);
    await lease.commit(documentOf(state, next, options.version), state.serial, died);
    state.setSerial(next);
    return new StateSession(lease, state, { ...options, isNew, next: next + 1 });
  } catch (error) {
    const outcome = endingAfter(error, options.lock.signal, false);
    await lease.release({ outcome }).catch(() => undefined);
    throw error;
  }
}

interface OpenOptions extends Pick<SessionOptions, 'version' | 'now'> {
  readonly isNew: boolean;
  /** Serial of the next document. */
  readonly next: number;
}

export class StateSession {
  readonly #lease: StateLease;
  readonly #state: FoldedState;
  readonly #options: OpenOptions;
  #firstCommit: Promise<void> | undefined;
  /** Settles when everything recorded so far is in the state; never rejects. */
  #tail: Promise<void> = Promise.resolve();
  #sequence = 0;
  #changed = false;
  #failure: { readonly error: unknown } | undefined;
  #closed: Promise<void> | undefined;
  #outcome: RunEnding = { result: 'done' };
  /** The recorded changes, for the history. */
  readonly #recorded: RunResources[number][] = [];

  constructor(lease: StateLease, state: FoldedState, options: OpenOptions) {
    this.#lease = lease;
    this.#state = state;
    this.#options = options;
  }

  /** Id of the run in the history. */
  get id(): string {
    return this.#lease.info.id;
  }

  /** The current state, including all recorded events. */
  get state(): State {
    return this.#state;
  }

  /** True if there was no state when the session began. */
  get isFirst(): boolean {
    return this.#options.isNew;
  }

  /** True after something was recorded. */
  get changed(): boolean {
    return this.#changed;
  }

  /** True after an append or a commit failed: nothing more may be written to the platform. */
  get broken(): boolean {
    return this.#failure !== undefined;
  }

  /** Must be checked right before each write request to the platform. False if the lock must be renewed first, or the session is broken. */
  get mayWrite(): boolean {
    return this.#failure === undefined && this.#lease.isRecent;
  }

  /** Renews the lock. If the renewal fails, nothing more may be written to the platform. */
  readonly renew = shareRun(() => this.#renew());

  /**
   * Resolves when the event would survive a power failure; `state` then includes the event. If the promise rejects, the event may be lost
   * and the session is broken: every later call rejects too, and the caller must write nothing more to the platform.
   */
  record(event: JournalEvent): Promise<void> {
    if (this.#closed !== undefined) return Promise.reject(new Error('the state session is closed'));
    if (this.#failure !== undefined) return this.#recordLost(event, this.#failure.error);
    const mistake = problemWith(event, this.#state);
    if (mistake !== undefined) return Promise.reject(new Error(mistake));
    const stored = withoutRepetition(event, this.#state);
    const appended = this.#append(stored);
    // Errors are handled below, where `appended` is awaited in order.
    appended.catch(() => undefined);
    const done = this.#tail.then(async () => {
      const at = await appended;
      if (this.#failure !== undefined) throw this.#failure.error;
      this.#recorded.push(...changeOf(event, this.#state));
      this.#state.apply({ event: stored, at });
      this.#changed = true;
    });
    this.#tail = done.catch((error: unknown) => {
      this.#failure ??= { error };
    });
    return done;
  }

  /** Adds to the outcome of the run in the history. If the outcome has no resources, the history lists the recorded changes. */
  note(outcome: Partial<RunEnding>): void {
    const { resources: before = [] } = this.#outcome;
    const resources = outcome.resources && [...before, ...outcome.resources];
    this.#outcome = { ...this.#outcome, ...outcome, ...(resources && { resources }) };
  }

  /**
   * Rewrites the state, its backups and its history, either sealed or in plain text, depending on the configuration of the store.
   * @returns the paths of unreadable backups, which stay unchanged.
   */
  async convert(): Promise<readonly string[]> {
    await this.#tail;
    const { next, version } = this.#options;
    const unreadable = await this.#lease.convert(documentOf(this.#state, next, version), this.#state.serial);
    this.#state.setSerial(next);
    return unreadable;
  }

  /** Writes the document if anything was recorded, and releases the lock. A broken session leaves its journal to the next one. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #renew(): Promise<void> {
    try {
      for (let renewals = 0; !this.mayWrite; renewals++) {
        if (this.#failure !== undefined) throw this.#failure.error;
        if (renewals === MAX_RENEWALS) throw slowLock(this.#lease.info);
        await this.#lease.renew();
      }
    } catch (error) {
      this.#failure ??= { error };
      throw error;
    }
  }

  async #append(event: JournalEvent): Promise<string> {
    // Lineage and salt must be stored before any entry refers to them. A session that records nothing writes nothing.
    if (this.#options.isNew) {
      this.#firstCommit ??= this.#lease.commit(documentOf(this.#state, 0, this.#options.version), undefined);
      await this.#firstCommit;
    }
    this.#sequence += 1;
    const at = this.#options.now().toISOString();
    const { lineage, serial } = this.#state;
    await this.#lease.append({ lineage, serial, sequence: this.#sequence, at, event });
    return at;
  }

  async #close(): Promise<void> {
    await this.#tail;
    const { serial: expectedSerial } = this.#state;
    const { next, version } = this.#options;
    const mustWrite = this.#changed && this.#failure === undefined;
    const commit = mustWrite ? { document: documentOf(this.#state, next, version), expectedSerial } : undefined;
    try {
      const resources = this.#recorded;
      const outcome = { ...(resources.length > 0 && { resources }), ...this.#outcome };
      await this.#lease.release({ commit, outcome });
      if (mustWrite) this.#state.setSerial(next);
    } catch (error) {
      this.#failure ??= { error };
      throw error;
    }
  }

  /** Appends an event to a broken lease. The lease does not store the event, but writes its id to a rescue file. */
  async #recordLost(event: JournalEvent, error: unknown): Promise<void> {
    await this.#append(event).catch(() => undefined);
    throw error;
  }
}

/** The maximum number of renewals for one write. A store that needs more renewals is too slow. */
const MAX_RENEWALS = 3;

function documentOf(state: FoldedState, serial: number, version: string): StateDocument {
  return state.toDocument({ serial, voxform_version: version, write: randomUUID() });
}

/** Removes the recorded values of an event if the pending create already contains them, so that they are not stored twice. */
function withoutRepetition(event: JournalEvent, { pending }: State): JournalEvent {
  if (event.type !== 'saved') return event;
  const { recorded, ...entry } = event.entry;
  const isRepeated = jsonEqual(recorded, pending.get(event.address)?.recorded);
  return isRepeated ? { ...event, entry } : event;
}

/** Returns the problem with an event that would drop an id or an unknown create; undefined for a valid event. */
function problemWith(event: JournalEvent, state: State): string | undefined {
  if (event.type === 'creating' && state.pending.has(event.address)) {
    return `${event.address} has an unknown create: it must be resolved before another is sent`;
  }
  if (event.type !== 'renamed' || event.from === event.to) return undefined;
  const taken = state.resources.has(event.to) || state.pending.has(event.to);
  return taken ? `cannot rename ${event.from} to ${event.to}: ${event.to} is already in the state` : undefined;
}

function slowLock({ id }: LockInfo): UserError {
  return new UserError(`renewing the lock ${id} of the state takes too long to write safely`, {
    hint: 'No more requests were sent. Check the connection to the storage of the state, then plan again.',
  });
}

/** Runs work in a session, and always closes the session. If the work fails, the history contains the reason. */
export async function inSession<T>(
  store: StateStore,
  options: SessionOptions,
  work: (session: StateSession) => Promise<T>,
): Promise<T> {
  const session = await openSession(store, options);
  try {
    return await work(session);
  } catch (error) {
    session.note(endingAfter(error, options.lock.signal, session.changed));
    throw error;
  } finally {
    await session.close();
  }
}

/** Runs work with a lease, and always releases the lease. If the work fails, the history contains the reason. */
export async function withLease<T>(
  store: StateStore,
  request: LockRequest,
  work: (lease: StateLease) => Promise<T>,
): Promise<T> {
  const lease = await store.lock(request);
  let outcome: RunEnding | undefined;
  try {
    return await work(lease);
  } catch (error) {
    outcome = endingAfter(error, request.signal, false);
    throw error;
  } finally {
    await lease.release({ outcome });
  }
}

/** Returns the error for a state that is older than the last known one; undefined if it is not older. */
function olderIn({ document, newer }: StoredState, location: string): UserError | undefined {
  return document && newer && olderState(location, document, newer);
}

/** Calls `allow` if the state is older than the last known one. @throws UserError in this case if `allow` is undefined. */
export function admitOlder(
  stored: StoredState,
  location: string,
  allow: ((warning: string) => void) | undefined,
): void {
  const older = olderIn(stored, location);
  if (older === undefined) return;
  if (allow === undefined) throw older;
  allow(older.message);
}

/** @throws UserError if the state belongs to another workspace. */
export function checkWorkspace(
  { document }: StoredState,
  workspaceId: string,
  { location, setting }: Pick<StateStore, 'location' | 'setting'>,
): void {
  if (document === undefined || document.workspace_id === workspaceId) return;
  throw new UserError(
    `the state ${location} belongs to workspace ${document.workspace_id}, but ${workspaceId} is configured`,
    { hint: `Correct workspace_id, or give this workspace its own \`${setting}\` in voxform.yaml.` },
  );
}
