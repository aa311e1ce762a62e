import type { PlatformClient } from '../platform/client.ts';

/** The client, which says when it is closed how many records of other workspaces it skipped. */
export function warningOfSkipped(client: PlatformClient, say: (message: string) => void): PlatformClient {
  return {
    ...client,
    async close() {
      const { foreign } = client.workspaceCheck;
      if (foreign > 0)
        say(`Records of other workspaces skipped: ${foreign}. The API key sees several workspaces.`);
      await client.close();
    },
  };
}
