import { z } from 'zod';
import { sameValue } from '../../engine/decide/compare.ts';
import { MASKED, ruleOf, showsMask } from '../../engine/decide/field-rules.ts';
import type { Kind } from '../../kinds/kind.ts';
import { unwrapSchema } from '../../manifests/schema-fields.ts';
import { hasInexactNumber, isDeeperThan, isObject, type Json } from '../../values/json.ts';
import { type LeafPath, unflatten } from '../../values/path.ts';
import type { FoundRecord } from '../discover.ts';

/** The fields of a record that a manifest can contain. */
interface ShownSpec {
  /** The fields with their values, in the order of the schema. */
  readonly leaves: ReadonlyMap<LeafPath, Json>;
  /** Top-level fields that only the published version contains. */
  readonly fromPublished: readonly string[];
  /** Strings that the platform returns as JSON numbers. */
  readonly asNumbers: readonly LeafPath[];
  readonly omitted: readonly Omission[];
  /** The reason why no manifest can declare the record, if any. */
  readonly unfit: string | undefined;
}

export interface Omission {
  readonly path: LeafPath;
  readonly because: string;
}

/** Returns the fields of the kind that the record contains, and those that only the published version contains. */
export function shownSpec(kind: Kind, { record, published }: FoundRecord): ShownSpec {
  const leaves = new Map<LeafPath, Json>();
  const fromPublished: string[] = [];
  const omitted: Omission[] = [];
  const asNumbers: LeafPath[] = [];
  for (const [root, schema] of Object.entries(kind.spec.shape)) {
    if (kind.fields[root]?.hidden) {
      omitted.push({ path: root, because: 'the API never returns it' });
      continue;
    }
    const inDraft = record[root];
    const inVersion = inDraft === undefined ? published?.record[root] : undefined;
    if (inVersion !== undefined) fromPublished.push(root);
    else if (inDraft === undefined && unwrapSchema(schema) instanceof z.ZodObject) {
      omitted.push({ path: root, because: 'neither the draft nor a published version contains it' });
    }
    collect({ kind, leaves, omitted, asNumbers }, root, { schema, value: inDraft === undefined ? inVersion : inDraft });
  }
  dropConflicting(kind, leaves, omitted);
  return { leaves, fromPublished, asNumbers, omitted, unfit: unfitReason(kind, leaves, omitted) };
}

interface CollectedSpec {
  readonly kind: Kind;
  readonly asNumbers: LeafPath[];
  readonly leaves: Map<LeafPath, Json>;
  readonly omitted: Omission[];
}

/** Adds the leaves of a value, and the omissions. */
function collect(into: CollectedSpec, path: LeafPath, { schema, value }: { schema: unknown; value: unknown }): void {
  const { kind, leaves, omitted, asNumbers } = into;
  const rule = ruleOf(kind, path);
  if (value === undefined || rule.writeOnly) return;
  const plainSchema = unwrapSchema(schema);
  if (plainSchema instanceof z.ZodObject && !rule.opaque) {
    if (!isObject(value)) return;
    for (const [key, field] of Object.entries(plainSchema.shape)) {
      if (Object.hasOwn(value, key)) collect(into, `${path}.${key}`, { schema: field, value: value[key] });
    }
    for (const key of Object.keys(value)) {
      if (!Object.hasOwn(plainSchema.shape, key))
        omitted.push({ path: `${path}.${key}`, because: 'manifests have no such field' });
    }
    return;
  }
  const isAccepted = (each: unknown): boolean => (schema as z.ZodType).safeParse(each).success;
  // If the platform returns a string as a number and the kind treats both as equal, restore the string.
  const isString = typeof value === 'number' && sameValue(rule, String(value), value) && !isAccepted(value);
  const accepted = isString ? String(value) : value;
  const problem = showsMask(kind, path, accepted)
    ? MASKED
    : isAccepted(accepted)
      ? problemOf(accepted)
      : 'the API documentation does not allow its value';
  if (problem === undefined) {
    leaves.set(path, accepted as Json);
    if (isString && rule.returnedAsNumber) asNumbers.push(path);
  } else if (value !== null) omitted.push({ path, because: problem });
}

/** The maximum number of levels in a value. Manifests allow 100 levels, including those around the value. */
const MAX_DEPTH = 90;

/** The maximum length in characters, about a quarter of the size limit of files in bytes: a character may take several bytes. */
const MAX_LENGTH = 250_000;

function problemOf(value: unknown): string | undefined {
  if (isDeeperThan(value, MAX_DEPTH)) return 'the value is nested too deeply for a manifest';
  if (JSON.stringify(value).length > MAX_LENGTH) return 'the value is too long for a manifest';
  if (hasInexactNumber(value)) return 'the value contains a number with too many digits to keep exactly';
  return problemWithin(value);
}

function problemWithin(value: unknown): string | undefined {
  if (typeof value === 'string')
    return value.isWellFormed() ? undefined : 'the value contains text that is not valid Unicode';
  if (Array.isArray(value)) return firstOf(value.map(problemWithin));
  if (!isObject(value)) return undefined;
  if (Object.hasOwn(value, '__proto__')) return 'the value has a key that manifests do not allow';
  return firstOf([...Object.keys(value), ...Object.values(value)].map(problemWithin));
}

function firstOf(problems: readonly (string | undefined)[]): string | undefined {
  return problems.find((problem) => problem !== undefined);
}

/** Removes fields that are valid alone but not together, and adds them to the omissions. */
function dropConflicting(kind: Kind, leaves: Map<LeafPath, Json>, omitted: Omission[]): void {
  const parsed = kind.spec.safeParse(unflatten(leaves));
  for (const issue of parsed.error?.issues ?? []) {
    const at = issue.path.join('.');
    for (const path of [...leaves.keys()].filter((each) => each === at || at.startsWith(`${each}.`))) {
      leaves.delete(path);
      omitted.push({ path, because: 'the API documentation does not allow its value' });
    }
  }
}

function unfitReason(
  kind: Kind,
  leaves: ReadonlyMap<LeafPath, Json>,
  omitted: readonly Omission[],
): string | undefined {
  for (const [root, schema] of Object.entries(kind.spec.shape)) {
    if (schema instanceof z.ZodOptional || leaves.has(root)) continue;
    const reason = omitted.find(({ path }) => path === root)?.because ?? 'the record does not have it';
    return `manifests require ${root}: ${reason}`;
  }
  return undefined;
}
