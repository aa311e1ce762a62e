import path from 'node:path';
import { removeDrafts } from '../files/replace-file.ts';
import type { PlatformClient } from '../platform/client.ts';
import type { StateSession } from '../state/session.ts';
import type { FreshState } from '../state/state.ts';
import type { OpenWorkspace } from './open-workspace.ts';
import type { LockOptions, PlatformOptions } from './run-options.ts';

export interface SessionWanted {
  /** For the lock, e.g. `apply`. */
  readonly operation: string;
  readonly options: LockOptions & PlatformOptions;
  /** The initial contents of a first state; generated if absent. */
  readonly fresh?: FreshState | undefined;
  /** An open client, which stays open; by default a new one. */
  readonly client?: PlatformClient | undefined;
}

/** Runs work that changes the state and calls the platform. Closes the state first, then the client unless it was given. */
export async function withSession<T>(
  opened: OpenWorkspace,
  { operation, options, fresh, client: given }: SessionWanted,
  work: (writable: { session: StateSession; client: PlatformClient }) => Promise<T>,
): Promise<T> {
  const inSession = (client: PlatformClient): Promise<T> =>
    opened.inSession({ operation, options, fresh }, (session) =>
      work({ session, client }).finally(() => removeManifestDrafts(opened)),
    );
  // Opened before the lock: if no request can be sent, no lock is taken.
  return given === undefined ? opened.withClient(options, inSession) : inSession(given);
}

/** Removes temporary files of killed commands beside the manifests. Must be called by the holder of the lock. */
function removeManifestDrafts({ project: { root, file }, manifests }: OpenWorkspace): Promise<void> {
  const files = file === undefined ? manifests : [...manifests, file];
  return removeDrafts([...files].map((each) => path.join(root, each)));
}
