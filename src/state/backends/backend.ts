import type { z } from 'zod';
import type { Network } from '../../platform/web-client.ts';
import type { parseState } from '../document-text.ts';
import type { LockUser } from '../lock-info.ts';
import type { Marks } from '../marks.ts';
import type { Seal } from '../seal.ts';
import type { ObjectStore } from './object-store/object-store.ts';

/** A backend for states, listed in `index.ts`. A `Location` is the location of one workspace's state, as plain data. */
export interface StateBackend<Settings extends object = object, Location extends object = object> {
  /** The schema of the settings in `state` of the project file, without `backend`. */
  settings(): z.ZodObject;
  /** Description of `backend` in the JSON Schema. */
  readonly description: string;
  /** The setting that distinguishes the states of two workspaces. */
  readonly locationSetting: string;
  /** Returns the location that the settings specify. Must not perform I/O. */
  locate(settings: Settings, owner: StateOwner): Location;
  /** Returns a key that is equal for all locations of the same state. */
  keyOf(location: Location): string;
  /** Returns the location for messages. */
  describe(location: Location, root: string): string;
  /** Returns the absolute path of the state; absent if the backend does not use local files. */
  fileOf?(location: Location): string;
  /** Returns the absolute path of a local folder that a setting specifies, if any. A fetched project may use only certain folders. */
  folderOf?(location: Location): { readonly setting: string; readonly path: string } | undefined;
  /** Opens the store. Must not access the storage yet, and must load large packages only when the store is used. */
  open(location: Location, user: StoreUser): ObjectStore;
  /** Reads the settings of this machine that the store needs; absent if it needs none. Must not access the store. */
  prepare?(location: Location, user: StoreUser): Promise<void>;
  /**
   * Returns the SQL that an administrator runs first; absent if no preparation is needed. Must not perform I/O.
   * @throws UserError if required settings are missing.
   */
  setUp?(location: Location): string;
}

export interface StateOwner {
  /** Name of the workspace in the project file. */
  readonly workspace: string;
  /** Absolute path of the folder that paths in settings are relative to. */
  readonly root: string;
  /** Address of the repository that the project was fetched from; absent if the project is in `root`. */
  readonly source?: string | undefined;
}

interface Outage {
  milliseconds: number;
}

/** The process that uses a state, and its project. */
export interface StoreUser extends LockUser {
  /** Absolute path of the project folder. Messages contain the paths of states relative to this folder. */
  readonly root: string;
  /** Redacts secrets in the history. */
  redact?: ((text: string) => string) | undefined;
  /** The last writes that this machine knows. */
  readonly marks?: Marks | undefined;
  /** The time for which a command waited for stores in vain, if it reads several. */
  readonly outage?: Outage | undefined;
  /** Aborted when the run is interrupted. */
  readonly stop?: AbortSignal | undefined;
  /** Environment of this process, for child processes of the store. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Absolute path of the folder for caches; without it, nothing is cached between runs. */
  readonly cacheFolder?: string | undefined;
  /** Returns the proxy and the additional certificates for an address. */
  network?: ((address: string) => Network) | undefined;
  debug?: ((message: string) => void) | undefined;
  warn?: ((message: string) => void) | undefined;
  failPoint?: ((name: FailPoint) => void) | undefined;
  /** Caches a setting of this machine: calls `read` only once for each name. If absent, settings are read each time. */
  once?: (<T>(name: string, read: () => Promise<T>) => Promise<T>) | undefined;
  /** Parses the state for reads without a lock; default: `parseState`. */
  readonly parse?: typeof parseState | undefined;
  /** Encrypts and decrypts the state; absent for a state in plain text. */
  readonly seal?: Seal | undefined;
}

/** The points where tests can kill a run. */
export type FailPoint =
  | 'before-append'
  | 'after-append'
  | 'before-fold'
  | 'before-rename'
  | 'after-rename'
  | 'before-truncate'
  | 'before-mark'
  | 'after-mark';
