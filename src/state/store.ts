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
  /** Name of the setting that determines the location, for messages, e.g. `state.path`. */
  readonly setting: string;
  /** Takes no lock and changes nothing. @param signal aborts the read. */
  read(signal?: AbortSignal): Promise<StoredState>;
  /**
   * Takes the lock. Waits up to `timeoutSeconds` while another run holds it.
   * @throws UserError that describes the holder and contains the lock id for `state unlock`.
   */
  lock(request: LockRequest): Promise<StateLease>;
  /** Returns the readable copies of this state and of quarantined states, newest first. Takes no lock and changes nothing. */
  backups(): Promise<readonly StateBackup[]>;
  /** Returns the holder of the lock, for commands that do not take the lock; undefined if the lock is free or may be taken over. */
  holder(): Promise<LockHolder | undefined>;
  /** Removes the lock of another run. @throws UserError unless `id` identifies the current lock. */
  unlock(id: string): Promise<LockHolder>;
  /** Finds another state of the workspace in the same storage, to avoid a second one. Absent if the storage cannot be searched. */
  findOther?(workspaceId: string): Promise<FoundState | undefined>;
  /** Returns the runs that took the lock, oldest first. The oldest runs may have been dropped. Takes no lock. */
  history(): Promise<readonly RunRecord[]>;
  /** Decrypts an entry of a rescue file. */
  opened(entry: StoredEntry): Promise<JournalEntry>;
}

export interface FoundState {
  /** Location for messages. */
  readonly location: string;
  /** The argument for `state move --from`. */
  readonly from: string;
  /** Number of records; undefined if the state cannot be read. */
  readonly records: number | undefined;
}

/** The content of a backup. */
export interface StateBackup extends Pick<State, 'resources' | 'pending' | 'orphans'> {
  /** Path or description of the source, for messages. */
  readonly source: string;
  /** Undefined if unknown. */
  readonly workspaceId: string | undefined;
  /** True for the current document, which stays in place when its damaged journal is quarantined. */
  readonly isCurrent: boolean;
}

export interface StoredState {
  /** Undefined if there is no state yet. */
  readonly document: StateDocument | undefined;
  /** The entries since the last write of the document, in order. */
  readonly journal: readonly JournalEntry[];
  /** A write that is later than the document, if any is known. */
  readonly newer?: NewerState | undefined;
  /** The other run that holds the lock, if any. */
  readonly holder?: LockHolder | undefined;
}

/** The exclusive permission to change the state, until `release`. */
export interface StateLease {
  readonly info: LockInfo;
  /** True if the lock was last renewed at most half of the takeover time ago. */
  readonly isRecent: boolean;
  /**
   * Renews the lock, in addition to the heartbeat.
   * @throws LostLock if the lock is no longer ours.
   */
  renew(): Promise<void>;
  read(): Promise<StoredState>;
  /** Resolves when the entry would survive a power failure. Calls may overlap. Entries are stored in the order of the calls. */
  append(entry: JournalEntry): Promise<void>;
  /**
   * Replaces the document, and empties the journal, if the stored serial is still `expectedSerial` (undefined: no document
   * yet). The earlier document is kept as a backup. The mark of a moved state of the same lineage counts as no document.
   * @param died the dead run whose journal is merged into the document, for the history.
   */
  commit(document: StateDocument, expectedSerial: number | undefined, died?: DeadRun): Promise<void>;
  /**
   * Commits the document even if it is unchanged, and rewrites the history and the backups: all sealed, or all in plain text.
   * @returns the unreadable backups, which stay unchanged.
   */
  convert(document: StateDocument, expectedSerial: number): Promise<readonly string[]>;
  /**
   * Quarantines a state for which `read` throws `LostState`, so that a new state can be created.
   * @returns the new location; undefined if there was nothing to move.
   */
  quarantine(): Promise<string | undefined>;
  /** Replaces the document, which must have the mark's serial and an empty journal, with the mark. `read` then throws `MovedState`. */
  leaveMark(mark: MovedMark): Promise<void>;
  /** Commits the document of the ending, if any, and records how the run ended. Always releases the lock. */
  release(ending?: Ending): Promise<void>;
}

/** The end of a run. It is stored in one write if the store supports this. */
export interface Ending {
  readonly commit?: { readonly document: StateDocument; readonly expectedSerial: number | undefined } | undefined;
  /** The outcome for the history; default: `done`. */
  readonly outcome?: RunEnding | undefined;
}

export interface LockRequest {
  /** The command, e.g. `apply`. */
  readonly operation: string;
  readonly timeoutSeconds: number;
  readonly signal?: AbortSignal | undefined;
  /** The Git commit of the manifests, for the history. Never rejects. */
  readonly commit?: Promise<string | undefined> | undefined;
  /** True for a step of a larger run. A step has no separate line in the history. */
  readonly isStep?: boolean | undefined;
  /** Called once if the lock is held, and when the lock of a dead holder is taken over. */
  notice(message: string): void;
  /** Called if ids could not be stored, or the lock could not be released. */
  warn(message: string): void;
}
