import type { ShownRecord } from '../../kinds/kind.ts';
import type { ResourceEntry } from '../../state/state-document.ts';
import { isObject, setOwn } from '../../values/json.ts';
import { valueAt } from '../../values/path.ts';
import type { Observation } from '../decide/observation.ts';

/** Characters from which on a text is worth it; prompts have thousands. */
const LONG = 256;

/** What was seen, with its long texts those of the state where they are the same: ten thousand prompts are then held once. */
export function interningStrings(seen: Observation, entry: ResourceEntry | undefined): Observation {
  if (seen.status !== 'shown' || entry === undefined) return seen;
  let { record } = seen;
  for (const [path, text] of Object.entries(entry.recorded)) {
    if (typeof text !== 'string' || text.length < LONG || valueAt(record, path) !== text) continue;
    record = withText(record, path.split('.'), text) as ShownRecord;
  }
  return record === seen.record ? seen : { ...seen, record };
}

/**
 * Puts the state's texts in the place of the same ones in a spec: in the object itself, as soon as it was read, so that they need not be
 * moved about first. That cannot be seen from anywhere, for a text has no identity.
 */
export function internStringsOf(entry: ResourceEntry, spec: unknown): void {
  for (const [path, text] of Object.entries(entry.recorded)) {
    if (typeof text !== 'string' || text.length < LONG || valueAt(spec, path) !== text) continue;
    const dot = path.lastIndexOf('.');
    const parent = dot === -1 ? spec : valueAt(spec, path.slice(0, dot));
    if (isObject(parent)) (parent as Record<string, unknown>)[path.slice(dot + 1)] = text;
  }
}

function withText(
  object: Readonly<Record<string, unknown>>,
  [key = '', ...below]: readonly string[],
  text: string,
): Readonly<Record<string, unknown>> {
  const inner = object[key];
  const copy = { ...object };
  setOwn(copy, key, isObject(inner) && below.length > 0 ? withText(inner, below, text) : text);
  return copy;
}
