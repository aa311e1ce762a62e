import type { PlatformClient } from '../platform/client.ts';
import { PlatformError } from '../platform/errors.ts';
import { UserError } from '../problems/user-error.ts';

/**
 * Asks the platform for something that has the workspace in its address, before a first write into a workspace of which nothing
 * was read: one request.
 * @throws UserError where the key does not belong to the workspace.
 */
export async function verifyWorkspace(client: PlatformClient, workspaceId: string): Promise<void> {
  try {
    for await (const _ of client.users.list()) break;
  } catch (error) {
    if (!(error instanceof PlatformError) || ['aborted', 'gateway'].includes(error.reason)) throw error;
    // Whatever else is wrong says nothing of the workspace, and the first write will meet it too.
    if (!error.saysMissing && error.status !== 403) return;
    throw new UserError(
      `${error.message}: the platform does not know the workspace ${workspaceId}, or not for this key; nothing was written`,
      { hint: 'Check that workspace_id, base_url and api_key belong together.', cause: error },
    );
  }
}
