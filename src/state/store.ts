import type { JournalEntry } from './journal-lines.ts';
import type { LockHolder, LockInfo } from './lock-info.ts';
import type { DeadRun, RunEnding, RunRecord } from './run-history.ts';
import type { State } from './state.ts';
import type { StateDocument } from './state-document.ts';
import type { MovedMark, NewerState } from './state-errors.ts';

/**
 * Where a state is kept. The engine knows no more of it than this, and must not assume that any call is quick.
 * All methods throw `UserError` for what a person can mend: a damaged, newer or unreadable state, a lock that is held.
 */
export interface StateStore {
  /** For messages, e.g. `.voxform/staging.state.json`. */
  readonly location: string;
  /** The setting that says where it is, for messages, e.g. `state.path`. */
  readonly setting: string;
  /** Takes no lock and changes nothing. @param until gives it up once nobody needs it any more. */
  read(until?: AbortSignal): Promise<StoredState>;
  /**
   * Waits up to `timeoutSeconds` for whoever holds it.
   * @throws UserError naming who holds it, since when, from where, and the id that `state unlock` takes.
   */
  lock(request: LockRequest): Promise<StateLease>;
  /**
   * What copies and broken pieces tell of this state and of earlier ones that were set aside, the newest first. Damage is
   * passed over. Takes no lock and changes nothing.
   */
  backups(): Promise<readonly StateBackup[]>;
  /** Who holds the lock, for commands that take none; undefined where nobody does. */
  holder(): Promise<LockHolder | undefined>;
  /** Ends a lock that its holder left behind. Throws `UserError` unless `id` is that of the lock in force. */
  unlock(id: string): Promise<LockHolder>;
  /** A state of that workspace beside this one, so that no second one is begun; absent where the place cannot tell. */
  elsewhere?(workspaceId: string): Promise<StateElsewhere | undefined>;
  /** The runs that took the lock, the oldest first; older ones may have been dropped. Takes no lock. */
  history(): Promise<readonly RunRecord[]>;
}

export interface StateElsewhere {
  /** For messages. */
  readonly location: string;
  /** What `state move --from` takes. */
  readonly from: string;
  /** Undefined where it cannot be read. */
  readonly records: number | undefined;
}

/** As much of a state as could still be read. */
export interface StateBackup extends Pick<State, 'resources' | 'pending' | 'orphans'> {
  /** Where it was read, for messages. */
  readonly source: string;
  /** Undefined where it does not say. */
  readonly workspaceId: string | undefined;
  /** True for a document that stays in force when what cannot be used beside it is set aside. */
  readonly isInForce: boolean;
}

export interface StoredState {
  /** Undefined when there has never been one. */
  readonly document: StateDocument | undefined;
  /** What has been appended since the document was written, in order. */
  readonly journal: readonly JournalEntry[];
  /** A later write than the document is; undefined where none is known. */
  readonly newer?: NewerState | undefined;
  /** Who holds the lock meanwhile; undefined where nobody does, or where it is read by its holder. */
  readonly holder?: LockHolder | undefined;
}

/** The right to change the state, until `release`. */
export interface StateLease {
  readonly info: LockInfo;
  /** True while the lock was renewed at most half of the time ago after which others take it over. */
  readonly isRecent: boolean;
  /**
   * Renews the lock, which the holder also does regularly by itself.
   * @throws LostLock where it is no longer ours.
   */
  renew(): Promise<void>;
  read(): Promise<StoredState>;
  /** Resolves when the entry would survive a loss of power. Calls may overlap; entries keep the order of the calls. */
  append(entry: JournalEntry): Promise<void>;
  /**
   * Replaces the document, and empties the journal, if the stored serial is still `expectedSerial` (undefined: no document
   * yet). The earlier document is kept as a backup. A mark of the same lineage counts as no document.
   * @param died the run whose journal the document takes in, for the history.
   */
  commit(document: StateDocument, expectedSerial: number | undefined, died?: DeadRun): Promise<void>;
  /**
   * Puts a state for which `read` throws `LostState` out of the way, with all that belongs to it, so that a new one can begin.
   * @returns where it is kept, or undefined where there was nothing.
   */
  quarantine(): Promise<string | undefined>;
  /** Puts a mark in the place of the document with the mark's serial, whose journal is empty: `read` throws `MovedState` from then on. */
  leaveMark(mark: MovedMark): Promise<void>;
  /** Commits what the ending has, puts down how the run ended, and gives the lock back in any case. */
  release(ending?: Ending): Promise<void>;
}

/** What is stored with the end of a run, in one write where the store can. */
export interface Ending {
  /** As `commit` takes it. */
  readonly commit?:
    | { readonly document: StateDocument; readonly expectedSerial: number | undefined }
    | undefined;
  /** For the history; `done` where absent. */
  readonly outcome?: RunEnding | undefined;
}

export interface LockRequest {
  /** The command, e.g. `apply`. */
  readonly operation: string;
  readonly timeoutSeconds: number;
  readonly signal?: AbortSignal | undefined;
  /** Of the manifests in Git, for the history. Never rejects. */
  readonly commit?: Promise<string | undefined> | undefined;
  /** True for a step of a larger run, which has no line in the history of its own. */
  readonly isStep?: boolean | undefined;
  /** Told once when it has to wait, and when the lock of a dead holder is taken over. */
  notice(message: string): void;
  /** Told of ids that could not be stored. */
  warn(message: string): void;
}
