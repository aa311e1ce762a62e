import type { z } from 'zod';
import type { Network } from '../../platform/web-client.ts';
import type { parseState } from '../document-text.ts';
import type { LockUser } from '../lock-info.ts';
import type { Marks } from '../marks.ts';
import type { StateStore } from '../store.ts';

/**
 * One way to keep a state: all that is special about it. `index.ts` names it, and nothing else does.
 * A place is what its settings lead to for one workspace, as plain data.
 */
export interface StateBackend<Settings extends object = object, Place extends object = object> {
  /** What `state` says in the project file, besides `backend`. */
  settings(): z.ZodObject;
  /** Of `backend` in the JSON Schema. */
  readonly description: string;
  /** The setting that tells the states of two workspaces apart, and what messages call it. */
  readonly placeSetting: string;
  readonly placeWord: string;
  /** Must not look anything up. */
  place(settings: Settings, owner: StateOwner): Place;
  /** The same for two places that hold the same state. */
  keyOf(place: Place): string;
  /** How messages call the state. */
  locationOf(place: Place, root: string): string;
  /** The file that holds the state, an absolute path; undefined where it is not on this machine. */
  fileOf(place: Place): string | undefined;
  /** A folder of this machine that a setting names, as an absolute path: a project that was fetched may not choose it freely. */
  folderOf?(place: Place): { readonly setting: string; readonly path: string } | undefined;
  /** Must touch nothing yet, and load large packages only once the store is used. */
  open(place: Place, user: StoreUser): StateStore;
  /**
   * The SQL that prepares the place, for an administrator to run; absent where nothing has to be prepared. Must not look anything up.
   * @throws UserError where the settings do not tell enough.
   */
  setUp?(place: Place): string;
}

export interface StateOwner {
  /** Name of the workspace in the project file. */
  readonly workspace: string;
  /** Absolute path of the folder that paths in settings are relative to. */
  readonly root: string;
  /** Address of the repository that the project was fetched from; absent where it lies in `root`. */
  readonly source?: string | undefined;
}

/** Who works with the state, for its lock, and in which project. */
export interface StoreUser extends LockUser {
  /** Absolute path of the project folder: messages call a state inside it by its path from there. */
  readonly root: string;
  /** Strikes secrets out of what is said in the history. */
  redact?: ((text: string) => string) | undefined;
  /** What this machine knows of states; nothing where absent. */
  readonly marks?: Marks | undefined;
  /** Once aborted, the run is about to end. */
  readonly stop?: AbortSignal | undefined;
  /** Of this process, for programs that the store runs. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Absolute path of the folder for what may be lost; nothing is kept for the next run where absent. */
  readonly cacheFolder?: string | undefined;
  /** How an address is reached: through which proxy, and whose certificates are trusted besides. */
  network?: ((address: string) => Network) | undefined;
  debug?: ((message: string) => void) | undefined;
  warn?: ((message: string) => void) | undefined;
  failPoint?: ((name: FailPoint) => void) | undefined;
  /** Parses the state for those who take no lock; `parseState` where absent. */
  readonly parse?: typeof parseState | undefined;
}

/** Where a run can be made to die, for tests. */
export type FailPoint =
  | 'before-append'
  | 'after-append'
  | 'before-fold'
  | 'before-rename'
  | 'after-rename'
  | 'before-truncate'
  | 'before-mark'
  | 'after-mark';
