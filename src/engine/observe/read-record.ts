import type { Kind } from '../../kinds/kind.ts';
import type { PlatformClient } from '../../platform/client.ts';
import { PlatformError } from '../../platform/platform-error.ts';
import type { ResourceEntry } from '../../state/state-document.ts';
import { isObject } from '../../values/json.ts';
import { valueAt } from '../../values/path.ts';
import type { Observation } from '../decide/observed.ts';
import type { ObserveOptions } from './observe-options.ts';

/** Reads one record by id. A missing record is an observation, not an error. */
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

/** The observation for an id that a list does not contain. */
export function unlisted(id: string, { workspaceCheck }: PlatformClient): Observation {
  const workspaceId = workspaceCheck.workspaceOf(id);
  return workspaceId === undefined ? { status: 'missing' } : { status: 'foreign', workspaceId };
}

/** The minimum length, in characters, of a text worth sharing. Prompts have thousands. */
const LONG = 256;

/**
 * Replaces long texts of a spec or a record with the same strings of the state entry, so that 10,000 prompts are held once. Mutates an
 * object that was just read; strings have no identity, so nobody can see it.
 */
export function internStringsOf(entry: ResourceEntry | undefined, read: unknown): void {
  for (const [path, text] of Object.entries(entry?.recorded ?? {})) {
    if (typeof text !== 'string' || text.length < LONG || valueAt(read, path) !== text) continue;
    const dot = path.lastIndexOf('.');
    const parent = dot === -1 ? read : valueAt(read, path.slice(0, dot));
    if (isObject(parent)) (parent as Record<string, unknown>)[path.slice(dot + 1)] = text;
  }
}
