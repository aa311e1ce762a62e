import type { Kind } from '../../kinds/kind.ts';
import type { PlatformClient } from '../../platform/client.ts';
import { PlatformError } from '../../platform/platform-error.ts';
import type { Observation } from '../decide/observed.ts';
import type { ObserveOptions } from './observe-options.ts';

/** Reads one record of a kind that cannot be listed. A record that is not there is an observation, not an error. */
export async function getRecord(
  kind: Kind,
  { id, client, workspaceId }: { id: string } & Pick<ObserveOptions, 'client' | 'workspaceId'>,
): Promise<Observation> {
  try {
    const record = await kind.get?.(client, id);
    if (record === undefined) return { status: 'absent' };
    const actual = record.workspace_id ?? workspaceId;
    if (actual !== workspaceId) return { status: 'foreign', workspaceId: actual };
    return { status: 'shown', record };
  } catch (error) {
    if (error instanceof PlatformError && error.saysMissing) return { status: 'missing' };
    throw error;
  }
}

/** What becomes of an id that no record of a list has. */
export function unlisted(id: string, { workspaceCheck }: PlatformClient): Observation {
  const workspaceId = workspaceCheck.workspaceOf(id);
  return workspaceId === undefined ? { status: 'missing' } : { status: 'foreign', workspaceId };
}
