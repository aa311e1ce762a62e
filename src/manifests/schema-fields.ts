import { z } from 'zod';
import { meant, nearest, type WordHint } from '../problems/suggest.ts';
import type { LeafPath } from '../values/path.ts';
import { type DocumentPath, quoted } from './finding.ts';

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
    if (schema instanceof z.ZodDiscriminatedUnion)
      schema = schema.options.find((each) => hasField(each, part));
    if (schema instanceof z.ZodObject)
      schema = bare(Object.hasOwn(schema.shape, part) ? schema.shape[part] : undefined);
    else if (schema instanceof z.ZodArray) schema = bare(schema.element);
    else if (schema instanceof z.ZodRecord) schema = bare(schema.valueType);
    else return undefined;
  }
  return schema;
}

function hasField(schema: unknown, name: string | number): boolean {
  return schema instanceof z.ZodObject && Object.hasOwn(schema.shape, name);
}

/** True where the schema takes text of some form. */
export function takesText(schema: unknown): schema is z.ZodType {
  return schema instanceof z.ZodString || schema instanceof z.ZodStringFormat || schema instanceof z.ZodEnum;
}

const pathsOf = new WeakMap<z.ZodObject, readonly LeafPath[]>();

/** Every path that an object of this schema can hold, those of objects included; what lies inside records and arrays has none. */
export function schemaPaths(root: z.ZodObject): readonly LeafPath[] {
  const known = pathsOf.get(root);
  if (known !== undefined) return known;
  const paths: string[] = [];
  const visit = (object: z.ZodObject, prefix: string) => {
    for (const [key, field] of Object.entries(object.shape)) {
      const schema = bare(field);
      paths.push(prefix + key);
      if (schema instanceof z.ZodObject) visit(schema, `${prefix}${key}.`);
    }
  };
  visit(root, '');
  pathsOf.set(root, paths);
  return paths;
}

/** For a key that its object does not have, looking at the whole schema. What belongs elsewhere is no fix. */
export function suggestField(root: unknown, place: DocumentPath, key: string): WordHint {
  const here = schemaAt(root, place);
  const siblings = here instanceof z.ZodObject ? Object.keys(here.shape) : [];
  const whole = bare(root);
  const all = whole instanceof z.ZodObject ? schemaPaths(whole) : [];
  const elsewhere = all.filter((path) => lastKey(path) === key);
  if (elsewhere.length > 0) return { said: meant(elsewhere.map(quoted)) };
  const near = nearest(key, siblings) ?? siblings.find((sibling) => hasNearPart(key, sibling));
  if (near !== undefined) return { said: meant([quoted(near)]), fix: { instead: [near] } };
  const far = nearest(key, all.map(lastKey));
  return { said: meant(all.filter((path) => lastKey(path) === far).map(quoted)) };
}

function lastKey(path: string): string {
  return path.slice(path.lastIndexOf('.') + 1);
}

/** `voise` is near to a part of `voice_id`. */
function hasNearPart(key: string, candidate: string): boolean {
  if (!candidate.includes('_')) return false;
  return (
    nearest(
      key,
      candidate.split('_').filter((part) => part.length > 3),
    ) !== undefined
  );
}
