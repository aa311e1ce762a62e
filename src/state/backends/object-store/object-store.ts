import { z } from 'zod';
import { type Advice, UserError } from '../../../problems/user-error.ts';
import { lazy } from '../../../values/lazy.ts';
import { type LockInfo, lockInfo } from '../../lock-info.ts';
import type { Seal } from '../../seal.ts';
import type { StateDocument } from '../../state-document.ts';
import type { LostState, NewerState } from '../../state-errors.ts';
import type { StateBackup } from '../../store.ts';

/** Storage that several runs share. Each backend implements it. `createStateStore` adds locks, waits, takeovers and rescue files. */
export interface ObjectStore {
  /** Location of the state for messages, without passwords. */
  readonly location: string;
  /** Name of the setting that determines the location, e.g. `state.ref`. */
  readonly setting: string;
  readonly timing: LockTiming;
  /**
   * Reads the stored content. Must not fetch more than necessary.
   * @throws UserError if another program wrote the content, or access is denied. Other errors are temporary.
   */
  read(signal: AbortSignal): Promise<StoredContent>;
  /** Reads only the lock. Absent if this is not cheaper than `read`. */
  readLock?(signal: AbortSignal): Promise<StoredContent>;
  /**
   * Stores the complete change or nothing, and only if the stored content is still `base`.
   * @returns the stored content.
   * @throws WriteConflict if another run wrote in the meantime; UserError if the store refused permanently and stored nothing. After other
   * errors, the change may have been stored, and the caller must check this.
   */
  write(change: Change, base: StoredContent, signal: AbortSignal): Promise<StoredContent>;
  /** The server's own lock; absent if the server has none. */
  readonly gate?: Gate | undefined;
  /** Returns the lines of the history, oldest first. */
  history(signal: AbortSignal): Promise<readonly string[]>;
  /** Returns other states in this storage that may belong to the workspace; absent if states cannot be listed. */
  others?(workspaceId: string, signal: AbortSignal): Promise<readonly OtherContent[]>;
  /** Returns earlier documents, newest first; absent if they cannot be read. */
  earlier?(signal: AbortSignal): Promise<readonly EarlierDocument[]>;
  /** Present if the state is in local files. Calls are then not retried, and a process that dies may leave a partial write. */
  readonly local?: LocalParts;
}

/** Additional operations of local files. */
export interface LocalParts {
  /** Returns the readable copies of this state and of quarantined states, newest first. */
  backups(): Promise<readonly StateBackup[]>;
  /** Returns the last write that this machine knows if it is later than the document. */
  newer(document: StateDocument, hasJournal: boolean): Promise<NewerState | undefined>;
  /**
   * Quarantines a damaged state.
   * @returns the new location of the state.
   */
  quarantine(id: string): Promise<string | undefined>;
  /** Rewrites the backups in the form that `seal` specifies. @returns the paths of unreadable backups, which stay unchanged. */
  convertBackups(seal: Seal): Promise<readonly string[]>;
  /** Removes the lock with this id if it still exists, even after a failed write. */
  release(id: string): Promise<void>;
}

/** All times are in milliseconds. */
export interface LockTiming {
  /** The interval of lock renewals by an idle holder. */
  readonly heartbeat: number;
  /** The time without heartbeats after which a lock is taken over. */
  takeoverAfter(lock: Pick<LockInfo, 'operation'>): number;
  /** The time without further entries after which collected entries are written together. */
  readonly gather: number;
  /** The maximum number of entries in a write while writes are fast; default: no maximum. */
  readonly fastBatch?: number;
  /** The maximum interval between two reads of a lock that another run holds. */
  readonly poll: number;
}

/** For stores without a clock. A write takes up to several seconds, and the clocks of the machines may differ by up to two minutes. */
export const clocklessTiming: LockTiming = {
  heartbeat: 150_000,
  takeoverAfter: () => 720_000,
  gather: 90,
  poll: 2_000,
};

/** The stored content at a point in time. */
export interface StoredContent {
  /** The revision that the next write is based on, e.g. a commit; undefined before the first write. */
  readonly revision: string | undefined;
  /** The id of the last write (`Change.write`). */
  readonly write: string | undefined;
  /** The state document, or the mark that `state move` leaves behind; undefined if neither exists. */
  readonly state: Uint8Array | undefined;
  /** The lines of the journal, as returned by `journalLine`. */
  readonly journal: Uint8Array;
  /** True if `journal` lacks the lines that were appended later. This keeps the complete journal of a long run out of memory. */
  readonly isBehind?: boolean | undefined;
  readonly lock: StoredLock | undefined;
  /** Seconds since the last heartbeat of the holder, measured by the clock of the store. */
  readonly secondsSinceHeartbeat: number | undefined;
  /** True if the process of the holder is known to be dead. */
  readonly isHolderDead?: boolean | undefined;
  /** Present if the state is in local files. */
  readonly files?: ContentFiles | undefined;
}

/** Describes local files. The document and the journal are separate files, so a process that dies may leave a partial write. */
export interface ContentFiles {
  /** Absolute path of the document. */
  readonly document: string;
  /** Absolute path of the journal. */
  readonly journal: string;
  /** A hint that explains how to restore a damaged document. */
  readonly restore: Advice;
  /** The error if the document is missing, although other files prove that it existed. */
  readonly lost?: LostState | undefined;
}

/** The content before the first write. */
export const NO_CONTENT: StoredContent = {
  revision: undefined,
  write: undefined,
  state: undefined,
  journal: new Uint8Array(),
  lock: undefined,
  secondsSinceHeartbeat: undefined,
};

export interface OtherContent extends Pick<StoredContent, 'state' | 'journal'> {
  /** True while a run holds the lock of the state. That run may be about to create a record. */
  readonly isLocked?: boolean;
  /** Location for messages. */
  readonly location: string;
  /** The argument for `state move --from`. */
  readonly from: string;
}

export interface StoredLock extends LockInfo {
  /** The time of the last renewal in ISO 8601, measured by the holder's clock. */
  readonly heard: string;
}

/** One write. Absent fields leave the stored values unchanged. */
export interface Change {
  /** An id that is unique to this write. */
  readonly write: string;
  /** A description for logs, e.g. `apply: 16 entries`. */
  readonly summary: string;
  /** The new document; null removes it. */
  readonly state?: Uint8Array | null;
  /** The document in `state`; absent for the mark of a moved state. */
  readonly document?: StateDocument;
  /** Serial of the document that `state` replaces; absent if there is no document, or if `state` replaces a mark. */
  readonly replaces?: number | undefined;
  /** Lines to append to the journal; null empties it. */
  readonly journal?: Uint8Array | null;
  /** The new lock; null releases it. */
  readonly lock?: StoredLock | null;
  /** A line for the history, without its newline. */
  readonly history?: string;
  /** Present if the state is sealed or unsealed: the lines of the new history. The store removes its earlier documents if possible. */
  readonly converted?: { readonly history: readonly string[] };
}

/** A server's own lock. */
export interface Gate {
  /** Requests the lock. @returns undefined if this run holds the lock now, otherwise the server's information about the holder. */
  enter(lock: StoredLock, signal: AbortSignal): Promise<GateHolder | undefined>;
  /** Removes the lock with this id, even if another run holds it. */
  leave(id: string, signal: AbortSignal): Promise<void>;
}

export interface GateHolder {
  readonly id: string;
  readonly who?: string;
}

export interface EarlierDocument {
  /** Description of the source, for messages. */
  readonly source: string;
  readonly bytes: Uint8Array;
}

/** Another run wrote first. */
export class WriteConflict extends Error {
  override readonly name = 'WriteConflict';

  constructor() {
    super('the store reported a write conflict');
  }
}

/** The first document was not stored, because another state of the workspace was created or changed after the search for other states. */
export class SecondState extends UserError {}

/** The JSON form of a lock, for stores that keep locks as text. Fields that a later version of voxform added are kept. */
export const storedLock = lazy(() => z.looseObject({ ...lockInfo().shape, heard: z.iso.datetime({ offset: true }) }));

/** Returns the content with the whole seconds between the last heartbeat (by the holder's clock) and `now`; undefined without a lock. */
export function withHeartbeatAge(content: StoredContent, now: Date): StoredContent {
  const { lock } = content;
  const secondsSinceHeartbeat = lock && Math.max(0, Math.round((now.getTime() - Date.parse(lock.heard)) / 1000));
  return { ...content, secondsSinceHeartbeat };
}
