import type { JournalEntry, StoredEntry } from './journal-lines.ts';
import type { LockHolder, LockInfo } from './lock-info.ts';
import type { DeadRun, RunEnding, RunRecord } from './run-history.ts';
import type { State } from './state.ts';
import type { StateDocument } from './state-document.ts';
import type { MovedMark, NewerState } from './state-errors.ts';

/**
 * The state of one workspace in its location. The engine must not assume that calls are fast. All methods throw `UserError` for problems
 * that a person can fix: a damaged, newer or unreadable state, a held lock.
 */
export interface StateStore {
  /** Location for messages, e.g. `.voxform/staging.state.json`. */
  readonly location: string;
  /** The setting with the location, for messages, e.g. `state.path`. */
  readonly setting: string;
  /** Takes no lock and changes nothing. @param until ends the read. */
  read(until?: AbortSignal): Promise<StoredState>;
  /**
   * Waits up to `timeoutSeconds` for its holder.
   * @throws UserError naming the holder, since when it holds the lock, from where, and the id for `state unlock`.
   */
  lock(request: LockRequest): Promise<StateLease>;
  /** Copies of this state and of quarantined ones, the newest first, as far as they can be read. Takes no lock and changes nothing. */
  backups(): Promise<readonly StateBackup[]>;
  /** The holder of the lock, for commands that take none; undefined if it is free. */
  holder(): Promise<LockHolder | undefined>;
  /** Ends the lock of another run. Throws `UserError` unless `id` is that of the lock in force. */
  unlock(id: string): Promise<LockHolder>;
  /** Another state of the workspace in the same storage, so that no second one is created; absent if the storage cannot be searched. */
  elsewhere?(workspaceId: string): Promise<StateElsewhere | undefined>;
  /** The runs that took the lock, the oldest first; older ones may have been dropped. Takes no lock. */
  history(): Promise<readonly RunRecord[]>;
  /** An entry of a rescue file, decrypted. */
  opened(entry: StoredEntry): Promise<JournalEntry>;
}

export interface StateElsewhere {
  /** For messages. */
  readonly location: string;
  /** The argument for `state move --from`. */
  readonly from: string;
  /** Undefined if it cannot be read. */
  readonly records: number | undefined;
}

/** The readable part of a copy. */
export interface StateBackup extends Pick<State, 'resources' | 'pending' | 'orphans'> {
  /** Source for messages. */
  readonly source: string;
  /** Undefined if unknown. */
  readonly workspaceId: string | undefined;
  /** True for the current document, which stays when its damaged journal is moved away. */
  readonly isInForce: boolean;
}

export interface StoredState {
  /** Undefined when there has never been one. */
  readonly document: StateDocument | undefined;
  /** The entries since the last write of the document, in order. */
  readonly journal: readonly JournalEntry[];
  /** A later write than the document; undefined if none is known. */
  readonly newer?: NewerState | undefined;
  /** The other run that holds the lock, if any. */
  readonly holder?: LockHolder | undefined;
}

/** The permission to change the state, until `release`. */
export interface StateLease {
  readonly info: LockInfo;
  /** True while the last renewal of the lock is at most half of the takeover time ago. */
  readonly isRecent: boolean;
  /**
   * Renews the lock, in addition to the heartbeat.
   * @throws LostLock if it is no longer ours.
   */
  renew(): Promise<void>;
  read(): Promise<StoredState>;
  /** Resolves when the entry would survive a loss of power. Calls may overlap; entries keep the order of the calls. */
  append(entry: JournalEntry): Promise<void>;
  /**
   * Replaces the document, and empties the journal, if the stored serial is still `expectedSerial` (undefined: no document
   * yet). The earlier document is kept as a backup. The mark of a moved state of the same lineage counts as no document.
   * @param died the run whose journal is merged into the document, for the history.
   */
  commit(document: StateDocument, expectedSerial: number | undefined, died?: DeadRun): Promise<void>;
  /**
   * As `commit`, also of a document that is the same, and stores history and backups in the form of this store: sealed or in plain text.
   * @returns the backups that cannot be read, which stay as they are.
   */
  convert(document: StateDocument, expectedSerial: number): Promise<readonly string[]>;
  /**
   * Moves a state that `read` rejects with `LostState` away, so that a new one can be created.
   * @returns its new location; undefined if there was nothing.
   */
  quarantine(): Promise<string | undefined>;
  /** Replaces the document with the mark's serial, if its journal is empty: `read` throws `MovedState` from then on. */
  leaveMark(mark: MovedMark): Promise<void>;
  /** Commits the document of the ending, if any, records how the run ended, and releases the lock in any case. */
  release(ending?: Ending): Promise<void>;
}

/** Stored with the end of a run, in one write if the store can. */
export interface Ending {
  /** The arguments of `commit`. */
  readonly commit?: { readonly document: StateDocument; readonly expectedSerial: number | undefined } | undefined;
  /** For the history; default: `done`. */
  readonly outcome?: RunEnding | undefined;
}

export interface LockRequest {
  /** The command, e.g. `apply`. */
  readonly operation: string;
  readonly timeoutSeconds: number;
  readonly signal?: AbortSignal | undefined;
  /** The Git commit of the manifests, for the history. Never rejects. */
  readonly commit?: Promise<string | undefined> | undefined;
  /** True for a step of a larger run that has no line of its own in the history. */
  readonly isStep?: boolean | undefined;
  /** Called once if the lock is held, and when the lock of a dead holder is taken over. */
  notice(message: string): void;
  /** Called with ids that could not be stored. */
  warn(message: string): void;
}
