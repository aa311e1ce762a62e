import type { Kind } from '../../kinds/kind.ts';
import type { ResourceEntry } from '../../state/state-document.ts';
import { type Json, type JsonObject, setOwn } from '../../values/json.ts';
import { isUnder, type LeafPath, type Leaves, unflatten } from '../../values/path.ts';
import { revealed } from '../../values/value.ts';
import { isConfigObject, ruleOf, shownAt } from './field-rules.ts';
import { driftIgnored, isWritable, type ResendInput, resentFields, sentRoots } from './resent.ts';
import { plainOf, recordedOf } from './state-entry.ts';

export function sentAtCreate(kind: Kind, leaves: Leaves): Leaves {
  return new Map([...leaves].filter(([path]) => ruleOf(kind, path).notAtCreate !== true));
}

export function createBody(sent: Leaves): JsonObject {
  return unflatten([...sent].map(([path, value]) => [path, revealed(value)] as const)) as JsonObject;
}

export interface BodyFacts extends ResendInput {
  readonly entry: ResourceEntry | undefined;
  /** By field: ids that are no longer sent. */
  readonly omitted?: Readonly<Record<LeafPath, readonly string[]>> | undefined;
}

/**
 * The body of an update. A config object with a change is sent whole, with the desired values over the observed ones, so the result is
 * the same whether the platform merges or replaces it.
 */
export function updateBody(facts: BodyFacts): JsonObject {
  const { kind } = facts;
  const { values: shown } = resentFields(facts);
  const values = new Map([...shown, ...desiredValues(facts)]);
  const body: Record<string, Json> = {};
  for (const root of sentRoots(facts)) {
    if (isConfigObject(kind, root)) {
      const object: Record<string, Json> = {};
      for (const [path, value] of values) {
        if (path !== root && isUnder(path, root)) setOwn(object, path.slice(root.length + 1), value);
      }
      setOwn(body, root, object);
    } else setOwn(body, root, values.get(root) ?? null);
  }
  for (const field of Object.keys(kind.alwaysSent ?? {})) {
    const all = values.get(field);
    const without = facts.omitted?.[field] ?? [];
    const value = Array.isArray(all) ? all.filter((id) => !without.some((each) => each === id)) : all;
    if (!Object.hasOwn(body, field) && value !== undefined && value !== null) setOwn(body, field, value);
  }
  return body;
}

/** The values of the manifest. A hidden field that others may change keeps the value that was sent last. */
function* desiredValues(facts: BodyFacts): Generator<readonly [LeafPath, Json]> {
  const { kind, leaves, record, published, entry } = facts;
  const free = driftIgnored(facts);
  for (const [path, value] of leaves) {
    if (!isWritable(kind, path)) continue;
    const isShown = [record, published].some((each) => shownAt(kind, each, path) !== undefined);
    if (!free.has(path)) yield [path, revealed(value)];
    else if (!isShown) yield [path, plainOf(recordedOf(entry, path)) ?? revealed(value)];
  }
}
