import type { PlatformClient } from '../../platform/client.ts';
import { PlatformError } from '../../platform/platform-error.ts';
import { UserError } from '../../problems/user-error.ts';
import type { ObserveOptions } from './observe-options.ts';
import { ReadCounter } from './read-counter.ts';

/** All records of a kind or a lookup; none where the platform cannot list them. */
export async function readList<T>(
  source: { list?(client: PlatformClient): AsyncIterable<T> },
  { client, workspaceId }: Pick<ObserveOptions, 'client' | 'workspaceId'>,
  progress = new ReadCounter(),
): Promise<T[]> {
  const all: T[] = [];
  try {
    await progress.list(async () => {
      for await (const record of source.list?.(client) ?? []) {
        all.push(record);
        progress.expect(1);
        progress.done(1);
      }
    });
  } catch (error) {
    if (error instanceof PlatformError && (error.saysMissing || error.status === 403)) {
      throw new UserError(`${error.message}: cannot read workspace ${workspaceId}`, {
        hint: error.saysMissing
          ? 'Check base_url (without /api/v1), workspace_id and api_key.'
          : 'Check workspace_id and api_key: the key must belong to that workspace.',
        cause: error,
      });
    }
    throw error;
  }
  return all;
}
