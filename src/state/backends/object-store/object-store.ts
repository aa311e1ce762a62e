import { z } from 'zod';
import { type Advice, UserError } from '../../../problems/user-error.ts';
import { lazily } from '../../../values/lazily.ts';
import { type LockInfo, lockInfo } from '../../lock-info.ts';
import type { StateDocument } from '../../state-document.ts';
import type { LostState, NewerState } from '../../state-errors.ts';
import type { StateBackup } from '../../store.ts';

/**
 * Storage that several runs share. The interface of a backend besides its settings: locks, waiting, takeover, lost answers and unsaved ids
 * are the same for all of them, and belong to `createStateStore`.
 */
export interface ObjectStore {
  /** How messages call the state; without any password. */
  readonly location: string;
  /** The setting that names the location, e.g. `state.ref`. */
  readonly setting: string;
  readonly timing: LockTiming;
  /**
   * The stored content; must fetch as little as possible again.
   * @throws UserError if the content is not ours, or access is denied. Other errors are temporary.
   */
  read(signal: AbortSignal): Promise<StoredContent>;
  /** The content's lock alone, if that costs less than all of it. */
  readLock?(signal: AbortSignal): Promise<StoredContent>;
  /**
   * Stores all of the change, or nothing, and only on top of what is `held`.
   * @returns what is stored then.
   * @throws WriteConflict if another run wrote since. UserError if the store refused for good, and stored nothing. After other errors the
   * change may be stored: the caller checks.
   */
  write(change: Change, held: StoredContent, signal: AbortSignal): Promise<StoredContent>;
  /** A lock that the server keeps besides; absent if it keeps none. */
  readonly gate?: Gate | undefined;
  /** Lines of the history, the oldest first. */
  history(signal: AbortSignal): Promise<readonly string[]>;
  /** Other states in this storage that may be of that workspace; absent if they cannot be listed. */
  others?(workspaceId: string, signal: AbortSignal): Promise<readonly OtherContent[]>;
  /** Earlier documents, the newest first, as far as the store keeps any. */
  earlier(signal: AbortSignal): Promise<readonly EarlierDocument[]>;
  /** Present if the state is in files of this machine. No call is repeated then, and a process that dies may leave half of a write. */
  readonly local?: LocalParts;
}

/** What files of this machine have besides. */
export interface LocalParts {
  /** As `StateStore.backups`. */
  backups(): Promise<readonly StateBackup[]>;
  /** A later write than the document, as far as this machine knows of one. */
  newer(document: StateDocument, hasJournal: boolean): Promise<NewerState | undefined>;
  /** Moves a damaged state away. @returns where it is kept. */
  quarantine(id: string): Promise<string | undefined>;
  /** Ends the lock with that id if it is still in force, also after a write failed. */
  release(id: string): Promise<void>;
}

/** All in milliseconds. */
export interface LockTiming {
  /** How often a holder that writes nothing renews its lock. */
  readonly heartbeat: number;
  /** How long a holder may be silent before its lock is taken over. */
  takeoverAfter(lock: Pick<LockInfo, 'operation'>): number;
  /** How long no further entry may come before those that came are written together. */
  readonly gather: number;
  /** The longest pause between two looks at a lock that another run holds. */
  readonly poll: number;
}

/** The content at one moment. */
export interface StoredContent {
  /** What the next write is based on, e.g. a commit; undefined if nothing was ever written. */
  readonly revision: string | undefined;
  /** `Change.write` of the last write. */
  readonly write: string | undefined;
  /** The document, or the mark of a state that was moved; undefined if there is none. */
  readonly state: Uint8Array | undefined;
  /** Lines of `journalLine`. */
  readonly journal: Uint8Array;
  readonly lock: StoredLock | undefined;
  /** Since the last heartbeat of the holder, by the clock that the store judges by. */
  readonly silentSeconds: number | undefined;
  /** True if the process of the holder is known to be dead. */
  readonly isHolderDead?: boolean | undefined;
  /** Absent if the state is not in files of this machine. */
  readonly files?: ContentFiles | undefined;
}

/** The document and the journal are files of their own, so that a process that dies may leave half of a write. */
export interface ContentFiles {
  /** Absolute paths. */
  readonly document: string;
  readonly journal: string;
  /** How to restore a damaged document. */
  readonly restore: Advice;
  /** Why a document that is not there must have been there. */
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
  /** True while a run has its lock: it may be about to create a record. */
  readonly isLocked?: boolean;
  /** For messages. */
  readonly location: string;
  /** What `state move --from` takes. */
  readonly from: string;
}

export interface StoredLock extends LockInfo {
  /** When its holder renewed it last, ISO 8601, by the holder's clock. */
  readonly heard: string;
}

/** One write. What it does not name stays as it is. */
export interface Change {
  /** Unique to this write. */
  readonly write: string;
  /** For logs, e.g. `apply: 16 entries`. */
  readonly summary: string;
  /** Null removes it. */
  readonly state?: Uint8Array | null;
  /** The document in `state`; absent for the mark of a state that was moved. */
  readonly document?: StateDocument;
  /** Serial of the document that `state` replaces; absent if there is none, or a mark. */
  readonly replaces?: number | undefined;
  /** Added to the journal; null empties it. */
  readonly journal?: Uint8Array | null;
  /** Null releases it. */
  readonly lock?: StoredLock | null;
  /** A line that is added to the history, without its end. */
  readonly history?: string;
}

export interface Gate {
  /** @returns undefined if the lock is ours now, else what the server says about its holder. */
  enter(lock: StoredLock, signal: AbortSignal): Promise<GateHolder | undefined>;
  /** Ends the lock with that id, even another run's. */
  leave(id: string, signal: AbortSignal): Promise<void>;
}

export interface GateHolder {
  readonly id: string;
  readonly who?: string;
}

export interface EarlierDocument {
  /** Where it was read, for messages. */
  readonly source: string;
  readonly bytes: Uint8Array;
}

/** Another run wrote first. */
export class WriteConflict extends Error {
  override readonly name = 'WriteConflict';
}

/** Another state of the same workspace was begun since this run looked for one, so this write of a first document stored nothing. */
export class SecondState extends UserError {}

/** A lock in JSON, for stores that keep it as text. Fields that a later voxform added stay. */
export const storedLock = lazily(() =>
  z.looseObject({ ...lockInfo().shape, heard: z.iso.datetime({ offset: true }) }),
);

/** Whole seconds since the last heartbeat of the holder, by its clock and this machine's; undefined without a lock. */
export function silenceOf(lock: StoredLock | undefined, now: Date): number | undefined {
  return lock && Math.max(0, Math.round((now.getTime() - Date.parse(lock.heard)) / 1000));
}
