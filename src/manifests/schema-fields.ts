import { z } from 'zod';
import { nearest } from '../problems/suggest.ts';
import type { LeafPath } from '../values/path.ts';
import { type DocumentPath, quoted } from './finding.ts';
import type { KindSchema } from './kind-schema.ts';

/** The schema without what only says that a value may be absent or null. */
export function bare(schema: unknown): unknown {
  let inner = schema;
  while (inner instanceof z.ZodOptional || inner instanceof z.ZodNullable || inner instanceof z.ZodDefault) {
    inner = inner.unwrap();
  }
  return inner;
}

/** The bare schema of the value at a path, or undefined where the schema has no such place. */
export function schemaAt(root: unknown, path: DocumentPath): unknown {
  let schema = bare(root);
  for (const part of path) {
    if (schema instanceof z.ZodObject)
      schema = bare(Object.hasOwn(schema.shape, part) ? schema.shape[part] : undefined);
    else if (schema instanceof z.ZodArray) schema = bare(schema.element);
    else if (schema instanceof z.ZodRecord) schema = bare(schema.valueType);
    else return undefined;
  }
  return schema;
}

/** Text that a schema leaves free: no format, no fixed values. */
export function isFreeText(schema: unknown): boolean {
  return schema instanceof z.ZodString && schema.format === null;
}

/** True where the schema takes text of some form. */
export function takesText(schema: unknown): boolean {
  return schema instanceof z.ZodString || schema instanceof z.ZodStringFormat || schema instanceof z.ZodEnum;
}

export interface SchemaFields {
  /** Every path, objects included. */
  readonly all: readonly LeafPath[];
  readonly leaves: ReadonlySet<LeafPath>;
}

const fieldsOf = new WeakMap<z.ZodObject, SchemaFields>();

/** The paths that a kind's spec can hold. What lies inside an opaque field has none. */
export function schemaFields(kind: Pick<KindSchema, 'spec' | 'fields'>): SchemaFields {
  const known = fieldsOf.get(kind.spec);
  if (known !== undefined) return known;
  const all: string[] = [];
  const leaves = new Set<string>();
  const visit = (object: z.ZodObject, prefix: string) => {
    for (const [key, field] of Object.entries(object.shape)) {
      const path = prefix + key;
      const schema = bare(field);
      all.push(path);
      if (schema instanceof z.ZodObject && kind.fields[path]?.opaque !== true) visit(schema, `${path}.`);
      else leaves.add(path);
    }
  };
  visit(kind.spec, '');
  const fields = { all, leaves };
  fieldsOf.set(kind.spec, fields);
  return fields;
}

/** `; did you mean …?` for a key that its object does not have, looking at the whole schema; or nothing. */
export function suggestField(root: unknown, place: DocumentPath, key: string): string {
  const here = schemaAt(root, place);
  const siblings = here instanceof z.ZodObject ? Object.keys(here.shape) : [];
  const all =
    bare(root) instanceof z.ZodObject
      ? schemaFields({ spec: bare(root) as z.ZodObject, fields: {} }).all
      : [];
  const elsewhere = all.filter((path) => lastKey(path) === key);
  if (elsewhere.length > 0) return meant(elsewhere);
  const near = nearest(key, siblings) ?? siblings.find((sibling) => hasNearPart(key, sibling));
  if (near !== undefined) return meant([near]);
  const far = nearest(key, all.map(lastKey));
  return far === undefined ? '' : meant(all.filter((path) => lastKey(path) === far));
}

function lastKey(path: string): string {
  return path.slice(path.lastIndexOf('.') + 1);
}

/** `voise` is near to a part of `voice_id`. */
function hasNearPart(key: string, candidate: string): boolean {
  return (
    candidate.includes('_') &&
    nearest(
      key,
      candidate.split('_').filter((part) => part.length > 3),
    ) !== undefined
  );
}

function meant(candidates: readonly string[]): string {
  const names = candidates.slice(0, 3).map(quoted);
  const last = names.pop();
  return `; did you mean ${names.length > 0 ? `${names.join(', ')} or ` : ''}${last}?`;
}
