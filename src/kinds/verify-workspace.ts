import type { PlatformClient } from '../platform/client.ts';
import { PlatformError } from '../platform/platform-error.ts';
import type { OfWorkspace } from '../platform/workspace-check.ts';
import { UserError } from '../problems/user-error.ts';

/**
 * Reads something of the workspace before a first write into one of which nothing was read. A platform that does not answer it would
 * not answer the creates either, and each would be unknown. One request, to a list with the workspace in its address; what a key may
 * see is not known, so that other lists stand in for one that is refused.
 * @throws PlatformError, and UserError where the key does not belong to the workspace.
 */
export async function verifyWorkspace(client: PlatformClient, workspaceId: string): Promise<void> {
  const users = await firstOf(() => client.users.list());
  if (!(users instanceof PlatformError)) return;
  for (const list of [client.numbers.list, client.knowledgeBases.list]) {
    const first = await firstOf<OfWorkspace>(list);
    if (first instanceof PlatformError) continue;
    client.workspaceCheck.refuseWrongWorkspace();
    // A workspace that the platform does not know takes more than silence to outweigh.
    if (typeof first?.workspace_id === 'string' || !users.saysMissing) return;
  }
  throw new UserError(
    `${users.message}: workspace ${workspaceId} does not exist or this API key cannot access it; nothing was written`,
    { hint: 'Check workspace_id, base_url and api_key.', cause: users },
  );
}

/** The first record of a list, undefined where it has none, or how the platform refused it. Throws every other failure. */
async function firstOf<T>(list: () => AsyncIterable<T>): Promise<T | undefined | PlatformError> {
  try {
    for await (const record of list()) return record;
    return undefined;
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error;
    if (error.saysMissing || error.saysForbidden) return error;
    throw error.withNote('nothing was written');
  }
}
