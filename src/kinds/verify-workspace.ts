import type { PlatformClient } from '../platform/client.ts';
import { PlatformError } from '../platform/platform-error.ts';
import type { WithWorkspaceId } from '../platform/workspace-check.ts';
import { UserError } from '../problems/user-error.ts';

/**
 * Reads one list before the first write if the run has read nothing else from the workspace. A platform that does not respond to the read
 * would not respond to creates either, and each would become an unknown create. If the key may not read a list, the next list is tried.
 * @throws PlatformError, and UserError if the key does not belong to the workspace.
 */
export async function verifyWorkspace(client: PlatformClient, workspaceId: string): Promise<void> {
  const users = await readFirst(() => client.users.list());
  if (!(users instanceof PlatformError)) return;
  for (const list of [client.numbers.list, client.knowledgeBases.list]) {
    const first = await readFirst<WithWorkspaceId>(list);
    if (first instanceof PlatformError) continue;
    client.workspaceCheck.refuseWrongWorkspace();
    // After a 404 for the workspace, an empty list does not prove that the workspace exists.
    if (typeof first?.workspace_id === 'string' || !users.isMissing) return;
  }
  throw new UserError(
    `${users.message}: workspace ${workspaceId} does not exist or this API key cannot access it; nothing was written`,
    { hint: 'Check workspace_id, base_url and api_key.', cause: users },
  );
}

/** Returns the first record, undefined for an empty list, or the error if the list is refused or missing. @throws every other error. */
async function readFirst<T>(list: () => AsyncIterable<T>): Promise<T | undefined | PlatformError> {
  try {
    for await (const record of list()) return record;
    return undefined;
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error;
    if (error.isMissing || error.isForbidden) return error;
    throw error.withNote('nothing was written');
  }
}
