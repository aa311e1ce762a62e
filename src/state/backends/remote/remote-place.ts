import { z } from 'zod';
import { UserError } from '../../../problems/user-error.ts';
import { lazily } from '../../../values/lazily.ts';
import { type LockInfo, lockInfo } from '../../lock-info.ts';

/**
 * A place that many machines share: all that a backend has to do, besides its settings. Everything about locks, waiting, lost answers and
 * what could not be stored is `RemoteStore`'s, which is the same for all of them.
 */
export interface RemotePlace {
  /** How messages call the state; without any password. */
  readonly location: string;
  /** The setting that says where it is, e.g. `state.ref`. */
  readonly setting: string;
  readonly timing: RemoteTiming;
  /**
   * What is there now; as little as possible is fetched again.
   * @throws UserError where what is there is not ours, or nobody may read it. Anything else that is thrown may pass.
   */
  read(signal: AbortSignal): Promise<RemoteContent>;
  /**
   * Stores all of the change, or nothing, and only on top of what is `held`.
   * @returns the new revision.
   * @throws Overtaken where somebody wrote since. UserError where the place refused, for good, and stored nothing. After anything else it
   * may or may not be stored: the caller looks.
   */
  write(change: RemoteChange, held: RemoteContent, signal: AbortSignal): Promise<string>;
  /** A lock that the server keeps besides; absent where it keeps none. */
  readonly gate?: Gate | undefined;
  /** Lines of the history, the oldest first. */
  history(signal: AbortSignal): Promise<readonly string[]>;
  /** What lies beside this state and may be of that workspace; absent where the place cannot tell. */
  others?(workspaceId: string, signal: AbortSignal): Promise<readonly OtherContent[]>;
  /** Earlier documents, the newest first, as far as the place keeps any. */
  earlier(signal: AbortSignal): Promise<readonly EarlierDocument[]>;
}

/** All in milliseconds. */
export interface RemoteTiming {
  /** How often a holder that writes nothing gives a sign of life. */
  readonly beat: number;
  /** How long a holder may be silent before its lock is taken over. */
  readonly patience: number;
  /** The same for a run of a fleet, whose process ends it itself where it cannot give signs of life. */
  readonly patienceWithFleet?: number;
  /** For how long no other entry may come before those that came are written together. */
  readonly gather: number;
  /** Between two looks at a lock that is held. */
  readonly poll: number;
}

/** What a place holds at one moment. */
export interface RemoteContent {
  /** What the next write stands on, e.g. a commit; undefined where nothing was ever written. */
  readonly revision: string | undefined;
  /** `RemoteChange.write` of the last write. */
  readonly write: string | undefined;
  /** The document, or the mark of where it went; undefined where there is none. */
  readonly state: Uint8Array | undefined;
  /** Lines of `journalLine`. */
  readonly journal: Uint8Array;
  readonly lock: RemoteLock | undefined;
  /** Since the holder was heard from, by the clock that the place judges by. */
  readonly silentSeconds: number | undefined;
}

/** Of a place that nothing was ever written to. */
export const NO_CONTENT: RemoteContent = {
  revision: undefined,
  write: undefined,
  state: undefined,
  journal: new Uint8Array(),
  lock: undefined,
  silentSeconds: undefined,
};

export interface OtherContent extends Pick<RemoteContent, 'state' | 'journal'> {
  /** True while a run has its lock: what it is about to create may not be in it yet. */
  readonly isLocked?: boolean;
  /** For messages. */
  readonly location: string;
  /** What `state move --from` takes. */
  readonly from: string;
}

export interface RemoteLock extends LockInfo {
  /** When its holder was last heard from, ISO 8601, by the holder's clock. */
  readonly heard: string;
}

/** What one write changes. What it does not name stays as it is. */
export interface RemoteChange {
  /** Of this write alone. */
  readonly write: string;
  /** For logs, e.g. `apply: 16 entries`. */
  readonly summary: string;
  /** Null removes it. */
  readonly state?: Uint8Array | null;
  /** What is added to the journal; null empties it. */
  readonly journal?: Uint8Array | null;
  /** Null frees it. */
  readonly lock?: RemoteLock | null;
  /** A line that is added to the history, without its end. */
  readonly history?: string;
}

export interface Gate {
  /** @returns undefined where the lock is ours now, else as much as the server says of whose it is. */
  enter(lock: RemoteLock, signal: AbortSignal): Promise<GateHolder | undefined>;
  /** Ends the lock of that id, also somebody else's. */
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

/** Somebody else wrote first. */
export class Overtaken extends Error {
  override readonly name = 'Overtaken';
}

/** A state of the same workspace was begun since this run looked for others, so this write of a first document stored nothing. */
export class SecondState extends UserError {}

/** A lock in JSON, for places that keep it as text. What a later voxform adds to it stays. */
export const storedLock = lazily(() =>
  z.looseObject({ ...lockInfo().shape, heard: z.iso.datetime({ offset: true }) }),
);

/** Whole seconds since the holder was heard from, by its clock and this machine's; undefined without a lock. */
export function silenceOf(lock: RemoteLock | undefined, now: Date): number | undefined {
  return lock && Math.max(0, Math.round((now.getTime() - Date.parse(lock.heard)) / 1000));
}
