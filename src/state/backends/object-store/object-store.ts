import { z } from 'zod';
import { type Advice, UserError } from '../../../problems/user-error.ts';
import { lazily } from '../../../values/lazily.ts';
import { type LockInfo, lockInfo } from '../../lock-info.ts';
import type { Seal } from '../../seal.ts';
import type { StateDocument } from '../../state-document.ts';
import type { LostState, NewerState } from '../../state-errors.ts';
import type { StateBackup } from '../../store.ts';

/**
 * Storage that several runs share. The interface of a backend, besides its settings. `createStateStore` implements locks, waiting,
 * takeover, lost answers and unsaved ids for all backends.
 */
export interface ObjectStore {
  /** Location of the state for messages, without passwords. */
  readonly location: string;
  /** The setting that names the location, e.g. `state.ref`. */
  readonly setting: string;
  readonly timing: LockTiming;
  /**
   * The stored content. Must not fetch more than necessary.
   * @throws UserError if the content is not ours, or access is denied. Other errors are temporary.
   */
  read(signal: AbortSignal): Promise<StoredContent>;
  /** Reads only the lock, if that is cheaper. */
  readLock?(signal: AbortSignal): Promise<StoredContent>;
  /**
   * Stores the whole change or nothing, and only on top of `held`.
   * @returns the stored content.
   * @throws WriteConflict if another run wrote since. UserError if the store refused permanently and stored nothing. After other errors the
   * change may be stored: the caller checks.
   */
  write(change: Change, held: StoredContent, signal: AbortSignal): Promise<StoredContent>;
  /** The server's own lock; absent if it has none. */
  readonly gate?: Gate | undefined;
  /** Lines of the history, the oldest first. */
  history(signal: AbortSignal): Promise<readonly string[]>;
  /** Other states in this storage that may be of that workspace; absent if they cannot be listed. */
  others?(workspaceId: string, signal: AbortSignal): Promise<readonly OtherContent[]>;
  /** Earlier documents, newest first, if the store keeps any. */
  earlier(signal: AbortSignal): Promise<readonly EarlierDocument[]>;
  /** Present if the state is in local files. Calls are then not retried, and a process that dies may leave a partial write. */
  readonly local?: LocalParts;
}

/** Additional operations of local files. */
export interface LocalParts {
  /** As `StateStore.backups`. */
  backups(): Promise<readonly StateBackup[]>;
  /** A later write than the document that this machine knows of, if any. */
  newer(document: StateDocument, hasJournal: boolean): Promise<NewerState | undefined>;
  /**
   * Moves a damaged state away.
   * @returns its new location.
   */
  quarantine(id: string): Promise<string | undefined>;
  /** Stores the backups as `seal` writes them. @returns the paths of those that cannot be read, which stay as they are. */
  convertBackups(seal: Seal): Promise<readonly string[]>;
  /** Removes the lock with that id if it is still in force, also after a failed write. */
  release(id: string): Promise<void>;
}

/** All in milliseconds. */
export interface LockTiming {
  /** The interval of lock renewals by an idle holder. */
  readonly heartbeat: number;
  /** The time without heartbeats after which a lock is taken over. */
  takeoverAfter(lock: Pick<LockInfo, 'operation'>): number;
  /** The time without further entries after which collected entries are written together. */
  readonly gather: number;
  /** The longest interval between two reads of a lock that another run holds. */
  readonly poll: number;
}

/** The content at a point in time. */
export interface StoredContent {
  /** The revision that the next write is based on, e.g. a commit; undefined before the first write. */
  readonly revision: string | undefined;
  /** `Change.write` of the last write. */
  readonly write: string | undefined;
  /** The document, or the mark of a state that was moved; undefined if there is none. */
  readonly state: Uint8Array | undefined;
  /** Lines of `journalLine`. */
  readonly journal: Uint8Array;
  /** True if lines were appended since that are not in `journal`, which would hold all of a long run in memory. */
  readonly isBehind?: boolean | undefined;
  readonly lock: StoredLock | undefined;
  /** Seconds since the last heartbeat of the holder, by the clock that the store uses. */
  readonly silentSeconds: number | undefined;
  /** True if the process of the holder is known to be dead. */
  readonly isHolderDead?: boolean | undefined;
  /** Absent if the state is not in files of this machine. */
  readonly files?: ContentFiles | undefined;
}

/** The document and the journal are separate files, so that a process that dies may leave a partial write. */
export interface ContentFiles {
  /** Absolute paths. */
  readonly document: string;
  readonly journal: string;
  /** How to restore a damaged document. */
  readonly restore: Advice;
  /** The reason why a missing document must have existed. */
  readonly lost?: LostState | undefined;
}

/** The content before the first write. */
export const NO_CONTENT: StoredContent = {
  revision: undefined,
  write: undefined,
  state: undefined,
  journal: new Uint8Array(),
  lock: undefined,
  silentSeconds: undefined,
};

export interface OtherContent extends Pick<StoredContent, 'state' | 'journal'> {
  /** True while a run holds its lock: it may be about to create a record. */
  readonly isLocked?: boolean;
  /** For messages. */
  readonly location: string;
  /** The argument for `state move --from`. */
  readonly from: string;
}

export interface StoredLock extends LockInfo {
  /** The last renewal by its holder, ISO 8601, by the holder's clock. */
  readonly heard: string;
}

/** One write. Absent fields stay unchanged. */
export interface Change {
  /** Unique to this write. */
  readonly write: string;
  /** For logs, e.g. `apply: 16 entries`. */
  readonly summary: string;
  /** The new document; null removes it. */
  readonly state?: Uint8Array | null;
  /** The document in `state`; absent for the mark of a state that was moved. */
  readonly document?: StateDocument;
  /** Serial of the document that `state` replaces; absent if there is none, or a mark. */
  readonly replaces?: number | undefined;
  /** Added to the journal; null empties it. */
  readonly journal?: Uint8Array | null;
  /** The new lock; null releases it. */
  readonly lock?: StoredLock | null;
  /** A line for the history, without its newline. */
  readonly history?: string;
  /**
   * The state is stored in another form: all lines of the history in that form, in place of the present ones. Earlier documents that the
   * store keeps by itself are removed if it can.
   */
  readonly converted?: { readonly history: readonly string[] };
}

export interface Gate {
  /** @returns undefined if we hold the lock now, else the server's information about the holder. */
  enter(lock: StoredLock, signal: AbortSignal): Promise<GateHolder | undefined>;
  /** Removes the lock with that id, even another run's. */
  leave(id: string, signal: AbortSignal): Promise<void>;
}

export interface GateHolder {
  readonly id: string;
  readonly who?: string;
}

export interface EarlierDocument {
  /** Source for messages. */
  readonly source: string;
  readonly bytes: Uint8Array;
}

/** Another run wrote first. */
export class WriteConflict extends Error {
  override readonly name = 'WriteConflict';
}

/** Another state of the same workspace was created since this run searched for one, so this first document was not stored. */
export class SecondState extends UserError {}

/** A lock in JSON, for stores that keep it as text. Fields that a later voxform added stay. */
export const storedLock = lazily(() => z.looseObject({ ...lockInfo().shape, heard: z.iso.datetime({ offset: true }) }));

/** Whole seconds since the last heartbeat of the holder, by its clock and this machine's; undefined without a lock. */
export function silenceOf(lock: StoredLock | undefined, now: Date): number | undefined {
  return lock && Math.max(0, Math.round((now.getTime() - Date.parse(lock.heard)) / 1000));
}
