import type { ShownRecord } from '../kinds/kind.ts';
import type { ResourceEntry } from '../state/document.ts';
import { isObject, setOwn } from '../values/json.ts';
import { valueAt } from '../values/path.ts';
import type { Observation } from './read.ts';

/** Characters from which on a text is worth it; prompts have thousands. */
const LONG = 256;

/** What was seen, with its long texts those of the state where they are the same: ten thousand prompts are then held once. */
export function sharingTexts(seen: Observation, entry: ResourceEntry | undefined): Observation {
  if (seen.status !== 'shown' || entry === undefined) return seen;
  let { record } = seen;
  for (const [path, text] of Object.entries(entry.recorded)) {
    if (typeof text !== 'string' || text.length < LONG || valueAt(record, path) !== text) continue;
    record = withText(record, path.split('.'), text) as ShownRecord;
  }
  return record === seen.record ? seen : { ...seen, record };
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
