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
  /** Returns the holder of the lock, for commands that do not take it; undefined if the lock is free or may be taken over. */
  holder(): Promise<LockHolder | undefined>;
  /** Removes the lock of another run. @throws UserError unless `id` identifies the current lock. */
  unlock(id: string): Promise<LockHolder>;
  /**
   * Finds another state of the workspace in the same storage, so that no second one is created. Absent if the storage cannot be searched.
   */
  findOther?(workspaceId: string): Promise<FoundState | undefined>;
  /** Returns the runs that took the lock, oldest first. The oldest ones may have been dropped. Takes no lock. */
  history(): Promise<readonly RunRecord[]>;
  /** Decrypts an entry of a rescue file. */
  opened(entry: StoredEntry): Promise<JournalEntry>;
}

export interface FoundState {
  /** Location for messages. */
  readonly location: string;
  /** The argument for `state move --from`. */
  readonly from: string;
  /** Number of its records; undefined if the state cannot be read. */
  readonly records: number | undefined;
}

/** The content of a backup. */
export interface StateBackup extends Pick<State, 'resources' | 'pending' | 'orphans'> {
  /** Path or description of the source, for messages. */
  readonly source: string;
  /** Undefined if unknown. */
  readonly workspaceId: string | undefined;
  /** True for the current document, which stays when its damaged journal is moved away. */
  readonly isCurrent: boolean;
}

export interface StoredState {
  /** Undefined if there is no state yet. */
  readonly document: StateDocument | undefined;
  /** The entries since the last write of the document, in order. */
  readonly journal: readonly JournalEntry[];
  /** A later write than that of the document, if one is known. */
  readonly newer?: NewerState | undefined;
  /** The other run that holds the lock, if any. */
  readonly holder?: LockHolder | undefined;
}

/** The exclusive permission to change the state, until `release`. */
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
  /** Resolves when the entry would survive a power failure. Calls may overlap; entries keep the order of the calls. */
  append(entry: JournalEntry): Promise<void>;
  /**
   * Replaces the document, and empties the journal, if the stored serial is still `expectedSerial` (undefined: no document
   * yet). The earlier document is kept as a backup. The mark of a moved state of the same lineage counts as no document.
   * @param died the run whose journal is merged into the document, for the history.
   */
  commit(document: StateDocument, expectedSerial: number | undefined, died?: DeadRun): Promise<void>;
  /**
   * Commits the document even if it is unchanged, and rewrites the history and the backups: all sealed, or all in plain text.
   * @returns the unreadable backups, which stay unchanged.
   */
  convert(document: StateDocument, expectedSerial: number): Promise<readonly string[]>;
  /**
   * Moves a state away if `read` throws `LostState` for it, so that a new one can be created.
   * @returns its new location; undefined if there was nothing to move.
   */
  quarantine(): Promise<string | undefined>;
  /** Replaces the document, which must have the serial of the mark and an empty journal. `read` then throws `MovedState`. */
  leaveMark(mark: MovedMark): Promise<void>;
  /** Commits the document of the ending, if any, records how the run ended, and releases the lock in any case. */
  release(ending?: Ending): Promise<void>;
}

/** The end of a run, stored in one write if the store can. */
export interface Ending {
  /** The arguments of `commit`. */
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
  /** True for a step of a larger run that has no line of its own in the history. */
  readonly isStep?: boolean | undefined;
  /** Called once if the lock is held, and when the lock of a dead holder is taken over. */
  notice(message: string): void;
  /** Called if ids could not be stored, or the lock could not be released. */
  warn(message: string): void;
}
