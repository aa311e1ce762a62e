import type { Kind, ShownRecord } from '../../kinds/kind.ts';
import type { ResourceEntry } from '../../state/state-document.ts';
import { isObject, type Json, type JsonObject, setOwn } from '../../values/json.ts';
import { isUnder, type LeafPath, type Leaves, rootOf, unflatten } from '../../values/path.ts';
import { revealed } from '../../values/value.ts';
import { isConfigObject, ruleOf, shownAt } from './field-rules.ts';
import { plainOf, recordedOf } from './state-entry.ts';

export function sentAtCreate(kind: Kind, leaves: Leaves): Leaves {
  return new Map([...leaves].filter(([path]) => ruleOf(kind, path).notAtCreate !== true));
}

export function createBody(sent: Leaves): JsonObject {
  return unflatten([...sent].map(([path, value]) => [path, revealed(value)] as const)) as JsonObject;
}

export interface BodyFacts {
  readonly kind: Kind;
  readonly leaves: Leaves;
  readonly record: ShownRecord;
  /** Stands in for config objects that the record hides; only while adopting, and only when the draft is not ahead of it. */
  readonly published: ShownRecord | undefined;
  readonly entry: ResourceEntry | undefined;
  /** The fields that the plan found to differ. */
  readonly changed: readonly LeafPath[];
  readonly ignoreDrift: readonly LeafPath[];
  /** Ids that go out no more, by field. */
  readonly leftOut?: Readonly<Record<LeafPath, readonly string[]>> | undefined;
}

export type Deliverable = Pick<BodyFacts, 'leaves' | 'changed' | 'ignoreDrift'>;

/**
 * The body of an update. A config object in which something changes is sent whole, desired over what is observed, so that
 * it ends the same whether the platform merges or replaces it.
 */
export function updateBody(facts: BodyFacts): JsonObject {
  const { kind, record, published } = facts;
  const values = leavesToSend(facts);
  const roots = new Set(facts.changed.filter((path) => isWritable(kind, path)).map(rootOf));
  const body: Record<string, Json> = {};
  for (const root of [...roots].sort()) {
    if (isConfigObject(kind, root)) {
      const base = record[root] ?? published?.[root];
      setOwn(body, root, overlaid(kind, { root, base: isObject(base) ? base : {}, values }));
    } else setOwn(body, root, values.get(root) ?? null);
  }
  for (const field of kind.alwaysSent ?? []) {
    const all = values.get(field) ?? (record[field] as Json | undefined);
    const without = facts.leftOut?.[field] ?? [];
    const value = Array.isArray(all) ? all.filter((id) => !without.some((each) => each === id)) : all;
    if (!Object.hasOwn(body, field) && value !== undefined && value !== null) setOwn(body, field, value);
  }
  return body;
}

/** The fields that every update carries and that this one sends as the platform shows them. */
export function fieldsAsObserved(
  kind: Kind,
  { record, ...facts }: Deliverable & { readonly record: ShownRecord | undefined },
): readonly LeafPath[] {
  const free = leftToOthers(facts);
  return (kind.alwaysSent ?? []).filter(
    (field) => !facts.leaves.has(field) || (free.has(field) && record?.[field] !== undefined),
  );
}

/** The leaves that go out as others have set them: those that they may move and that the manifest did not change. */
export function leftToOthers({ leaves, changed, ignoreDrift }: Deliverable): ReadonlySet<LeafPath> {
  const isFree = (path: LeafPath): boolean => ignoreDrift.some((prefix) => isUnder(path, prefix));
  return new Set([...leaves.keys()].filter((path) => isFree(path) && !changed.includes(path)));
}

function leavesToSend(facts: BodyFacts): Map<LeafPath, Json> {
  const { kind, leaves, record, published, entry } = facts;
  const free = leftToOthers(facts);
  const values = new Map<LeafPath, Json>();
  for (const [path, value] of leaves) {
    if (!isWritable(kind, path)) continue;
    const current = free.has(path)
      ? [shownAt(kind, record, path), shownAt(kind, published, path), plainOf(recordedOf(entry, path))].find(
          (each) => each !== undefined,
        )
      : undefined;
    values.set(path, current === undefined ? revealed(value) : (current as Json));
  }
  return values;
}

interface Overlay {
  readonly root: string;
  readonly base: Readonly<Record<string, unknown>>;
  readonly values: ReadonlyMap<LeafPath, Json>;
}

function overlaid(kind: Kind, { root, base, values }: Overlay): JsonObject {
  const object: Record<string, Json> = {};
  for (const [key, value] of Object.entries(base)) {
    // What is shown of a write-only field may be a mask: sending it back would overwrite the real value.
    if (!ruleOf(kind, `${root}.${key}`).writeOnly) setOwn(object, key, value as Json);
  }
  for (const [path, value] of values) {
    if (path !== root && isUnder(path, root)) setOwn(object, path.slice(root.length + 1), value);
  }
  return object;
}

function isWritable(kind: Kind, path: LeafPath): boolean {
  const rule = ruleOf(kind, path);
  return !rule.immutable && !rule.manual;
}
