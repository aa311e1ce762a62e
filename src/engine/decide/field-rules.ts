import { z } from 'zod';
import type { FieldRule, KindSchema } from '../../manifests/kind-schema.ts';
import type { ResourceEntry } from '../../state/state-document.ts';
import { flatten, type LeafPath, rootOf, valueAt } from '../../values/path.ts';
import type { Value } from '../../values/value.ts';

const PLAIN: FieldRule = {};

/** Returns the rule of a leaf. A rule for a config object applies to all its leaves. */
export function ruleOf(kind: KindSchema, path: LeafPath): FieldRule {
  return kind.fields[path] ?? kind.fields[rootOf(path)] ?? PLAIN;
}

export function leavesOf(kind: KindSchema, spec: { readonly [key: string]: Value }): Map<LeafPath, Value> {
  return flatten(spec, (path) => kind.fields[path]?.opaque === true);
}

/** Returns the value of a leaf in a record, if any. Ignores write-only fields, because the platform may return masks in them. */
export function valueInRecord(kind: KindSchema, record: object | undefined, path: LeafPath): unknown {
  return ruleOf(kind, path).writeOnly === true ? undefined : valueAt(record, path);
}

/** True if this field is an object whose leaves are managed separately. */
export function isConfigObject(kind: KindSchema, root: string): boolean {
  return configObject(kind, root) !== undefined;
}

/** Returns all leaves that a config object may have; empty for other fields. */
export function fieldsOf(kind: KindSchema, root: string): LeafPath[] {
  return Object.keys(configObject(kind, root)?.shape ?? {}).map((key) => `${root}.${key}`);
}

/** Returns the request schema of a top-level field or of a field of a config object; undefined if requests do not have the field. */
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

/** The reason, as a clause, why a value for which `showsMask` is true is not written to a manifest. */
export const MASKED = 'the platform shows a mask in place of a secret';

/** A mask in place of a secret, such as `Bearer ****`. */
const MASK = /[*•●]{4}/;

/**
 * True if the platform may return a mask in place of a secret in this value. Only contents that are not documented may hold secrets. A mask
 * that is sent overwrites the secret.
 */
export function showsMask(kind: KindSchema, path: LeafPath, value: unknown): boolean {
  const isDocumented = fieldSchema(kind, path) !== undefined && ruleOf(kind, path).opaque !== true;
  return !isDocumented && MASK.test(JSON.stringify(value));
}

/** Combines a kind and a natural key, because natural keys are unique only within a kind. */
export function keyIn(kind: string, naturalKey: string): string {
  return `${kind}/${naturalKey}`;
}

/** Returns the natural key of a managed record, if it is recorded and not secret. */
export function recordedKey(kind: KindSchema | undefined, entry: ResourceEntry | undefined): string | undefined {
  return entry && kind?.naturalKey?.(entry.recorded)?.key;
}
