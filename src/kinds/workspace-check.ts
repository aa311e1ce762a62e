import type { PlatformClient } from '../platform/client.ts';
import { PlatformError } from '../platform/errors.ts';
import { UserError } from '../problems/user-error.ts';

/**
 * Reads something that has the workspace in its address, before a first write into a workspace of which nothing was read: one
 * request. A platform that does not answer it would not answer the creates either, and each would be unknown.
 * @throws PlatformError, and UserError where the key does not belong to the workspace.
 */
export async function verifyWorkspace(client: PlatformClient, workspaceId: string): Promise<void> {
  try {
    for await (const _ of client.users.list()) break;
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error;
    if (!error.saysMissing && error.status !== 403) throw error.withNote('nothing was written');
    throw new UserError(
      `${error.message}: the platform does not know the workspace ${workspaceId}, or not for this key; nothing was written`,
      { hint: 'Check that workspace_id, base_url and api_key belong together.', cause: error },
    );
  }
}
