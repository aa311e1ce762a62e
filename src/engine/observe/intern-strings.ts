import type { ResourceEntry } from '../../state/state-document.ts';
import { isObject } from '../../values/json.ts';
import { valueAt } from '../../values/path.ts';

/** Characters from which on a text is worth it; prompts have thousands. */
const LONG = 256;

/**
 * Puts the state's texts in the place of the same ones in a spec or a record, so that ten thousand prompts are held once: in the object
 * itself, as soon as it was read. That cannot be seen from anywhere, for a text has no identity.
 */
export function internStringsOf(entry: ResourceEntry | undefined, read: unknown): void {
  for (const [path, text] of Object.entries(entry?.recorded ?? {})) {
    if (typeof text !== 'string' || text.length < LONG || valueAt(read, path) !== text) continue;
    const dot = path.lastIndexOf('.');
    const parent = dot === -1 ? read : valueAt(read, path.slice(0, dot));
    if (isObject(parent)) (parent as Record<string, unknown>)[path.slice(dot + 1)] = text;
  }
}
