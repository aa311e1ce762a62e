import { z } from 'zod';
import type { FieldRule, KindSchema } from '../../manifests/kind-schema.ts';
import type { ResourceEntry } from '../../state/state-document.ts';
import { flatten, type LeafPath, rootOf, valueAt } from '../../values/path.ts';
import type { Value } from '../../values/value.ts';

const PLAIN: FieldRule = {};

/** Asked for several times for every field of every record. */
const rulesByPath = new WeakMap<KindSchema, Map<LeafPath, FieldRule>>();
/** Paths of each kind: far more than it has, and a bound for what else comes along. */
const MOST_CACHED = 10_000;

/** The rule of a leaf; one that is given for a whole config object holds for all its leaves. */
export function ruleOf(kind: KindSchema, path: LeafPath): FieldRule {
  let rules = rulesByPath.get(kind);
  if (rules === undefined) {
    rules = new Map();
    rulesByPath.set(kind, rules);
  }
  let rule = rules.get(path);
  if (rule === undefined) {
    if (rules.size >= MOST_CACHED) rules.clear();
    rule = kind.fields[path] ?? kind.fields[rootOf(path)] ?? PLAIN;
    rules.set(path, rule);
  }
  return rule;
}

export function leavesOf(kind: KindSchema, spec: { readonly [key: string]: Value }): Map<LeafPath, Value> {
  return flatten(spec, (path) => kind.fields[path]?.opaque === true);
}

/**
 * What a record shows at a managed leaf; undefined where it shows nothing, or something that is not to be trusted because
 * the field is write-only.
 */
export function shownAt(kind: KindSchema, record: object | undefined, path: LeafPath): unknown {
  return ruleOf(kind, path).writeOnly === true ? undefined : valueAt(record, path);
}

/** True where the field is an object whose leaves are managed one by one. */
export function isConfigObject(kind: KindSchema, root: string): boolean {
  return configObject(kind, root) !== undefined;
}

/** Every leaf that a config object may have; none where the field is no such object. */
export function fieldsOf(kind: KindSchema, root: string): LeafPath[] {
  return Object.keys(configObject(kind, root)?.shape ?? {}).map((key) => `${root}.${key}`);
}

/** The schema of a top-level field or of a field of a config object, as requests take it; undefined where requests have none. */
export function fieldSchema(kind: KindSchema, path: LeafPath): z.ZodType | undefined {
  const root = rootOf(path);
  const shape: Readonly<Record<string, unknown>> =
    path === root ? kind.spec.shape : (configObject(kind, root)?.shape ?? {});
  const key = path === root ? root : path.slice(root.length + 1);
  const schema = Object.hasOwn(shape, key) ? shape[key] : undefined;
  return schema instanceof z.ZodType ? schema : undefined;
}

function configObject(kind: KindSchema, root: string): z.ZodObject | undefined {
  const schema = kind.spec.shape[root];
  const inner = schema instanceof z.ZodOptional ? schema.unwrap() : schema;
  return inner instanceof z.ZodObject ? inner : undefined;
}

/** One text for each natural key: it is unique within its kind alone. */
export function keyIn(kind: string, naturalKey: string): string {
  return `${kind}/${naturalKey}`;
}

/** The natural key of a managed record, as far as it is recorded; a secret is no key. */
export function recordedKey(
  kind: KindSchema | undefined,
  entry: ResourceEntry | undefined,
): string | undefined {
  return entry && kind?.naturalKey?.(entry.recorded)?.key;
}
