import { z } from 'zod';
import type { FieldRule, KindSchema } from '../manifests/kind-schema.ts';
import { flatten, type LeafPath, rootOf, valueAt } from '../values/path.ts';
import type { Value } from '../values/value.ts';

const PLAIN: FieldRule = {};

/** The rule of a leaf; one that is given for a whole config object holds for all its leaves. */
export function ruleOf(kind: KindSchema, path: LeafPath): FieldRule {
  return kind.fields[path] ?? kind.fields[rootOf(path)] ?? PLAIN;
}

/** The managed leaves of a spec. */
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
  const schema = kind.spec.shape[root];
  const inner = schema instanceof z.ZodOptional ? schema.unwrap() : schema;
  return inner instanceof z.ZodObject;
}
