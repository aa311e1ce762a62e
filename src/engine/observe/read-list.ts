import { PlatformError } from '../../platform/platform-error.ts';
import { UserError } from '../../problems/user-error.ts';
import type { ReadCounter } from './read-counter.ts';

export interface ListReading {
  readonly workspaceId: string;
  readonly progress: ReadCounter;
}

/** All records of a list. */
export async function readList<T>(
  list: () => AsyncIterable<T>,
  { workspaceId, progress }: ListReading,
): Promise<T[]> {
  const all: T[] = [];
  try {
    await progress.list(async () => {
      for await (const record of list()) {
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
