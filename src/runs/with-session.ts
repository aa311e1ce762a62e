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
  /** What a first state begins with; something new where absent. */
  readonly fresh?: FreshState | undefined;
  /** One that is open already, and stays open; a new one where absent. */
  readonly client?: PlatformClient | undefined;
}

/** Does work that changes the state and reaches the platform. Both are closed whatever comes of it, the state first; a client that was given is not. */
export async function withSession<T>(
  opened: OpenWorkspace,
  { operation, options, fresh, client: given }: SessionWanted,
  work: (writable: { session: StateSession; client: PlatformClient }) => Promise<T>,
): Promise<T> {
  const inSession = (client: PlatformClient): Promise<T> =>
    opened.inSession({ operation, options, fresh }, (session) =>
      work({ session, client }).finally(() => removeManifestDrafts(opened)),
    );
  // Opened before the lock: where no request could be sent, none is taken.
  return given === undefined ? opened.withClient(options, inSession) : inSession(given);
}

/** Removes what killed commands left beside the manifests that were read. To be called by the holder of the lock. */
function removeManifestDrafts({ project: { root, file }, manifests }: OpenWorkspace): Promise<void> {
  const files = file === undefined ? manifests : [...manifests, file];
  return removeDrafts([...files].map((each) => path.join(root, each)));
}
