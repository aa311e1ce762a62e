import { z } from 'zod';
import { didYouMeanOneOf, nearestCandidate, type Suggestion } from '../problems/suggest.ts';
import { isObject } from '../values/json.ts';
import type { LeafPath } from '../values/path.ts';
import { type DocumentPath, quoted } from './finding.ts';

/** Removes the optional, nullable and default wrappers of a schema. */
export function unwrapSchema(schema: unknown): unknown {
  let inner = schema;
  while (inner instanceof z.ZodOptional || inner instanceof z.ZodNullable || inner instanceof z.ZodDefault) {
    inner = inner.unwrap();
  }
  return inner;
}

export function schemaAt(root: unknown, path: DocumentPath): unknown {
  let schema = unwrapSchema(root);
  for (const part of path) {
    if (schema instanceof z.ZodUnion) schema = schema.options.find((each) => hasField(each, part));
    if (schema instanceof z.ZodObject)
      schema = unwrapSchema(Object.hasOwn(schema.shape, part) ? schema.shape[part] : undefined);
    else if (schema instanceof z.ZodArray) schema = unwrapSchema(schema.element);
    else if (schema instanceof z.ZodRecord) schema = unwrapSchema(schema.valueType);
    else return undefined;
  }
  return schema;
}

export function hasField(schema: unknown, name: string | number): boolean {
  return schema instanceof z.ZodObject && Object.hasOwn(schema.shape, name);
}

export function takesText(schema: unknown): schema is z.ZodType {
  return schema instanceof z.ZodString || schema instanceof z.ZodStringFormat || schema instanceof z.ZodEnum;
}

export function holdsValues(schema: unknown): boolean {
  return schema instanceof z.ZodArray || schema instanceof z.ZodObject || schema instanceof z.ZodRecord;
}

const pathsOf = new WeakMap<z.ZodObject, readonly LeafPath[]>();

/** Returns all field paths of a schema, including nested objects. Records and arrays have no inner paths. */
export function schemaPaths(root: z.ZodObject): readonly LeafPath[] {
  const known = pathsOf.get(root);
  if (known !== undefined) return known;
  const paths: string[] = [];
  const visit = (object: z.ZodObject, prefix: string) => {
    for (const [key, field] of Object.entries(object.shape)) {
      const schema = unwrapSchema(field);
      paths.push(prefix + key);
      if (schema instanceof z.ZodObject) visit(schema, `${prefix}${key}.`);
    }
  };
  visit(root, '');
  pathsOf.set(root, paths);
  return paths;
}

/**
 * Suggests fields of the whole schema for an unknown key. Offers no field of another object as a fix, and none that the object already
 * has, because a duplicate key would be invalid.
 */
export function suggestField(root: unknown, path: DocumentPath, key: string, object: unknown = {}): Suggestion {
  const schema = schemaAt(root, path);
  const siblings = schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
  const rootSchema = unwrapSchema(root);
  const all = rootSchema instanceof z.ZodObject ? schemaPaths(rootSchema) : [];
  const elsewhere = all.filter((each) => lastKey(each) === key);
  if (elsewhere.length > 0) return { text: didYouMeanOneOf(elsewhere.map(quoted)) };
  const near = nearestCandidate(key, siblings) ?? siblings.find((sibling) => hasNearPart(key, sibling));
  if (near !== undefined) {
    const text = didYouMeanOneOf([quoted(near)]);
    return isObject(object) && Object.hasOwn(object, near) ? { text } : { text, fix: { instead: [near] } };
  }
  const distant = nearestCandidate(key, all.map(lastKey));
  return { text: didYouMeanOneOf(all.filter((each) => lastKey(each) === distant).map(quoted)) };
}

export function lastKey(path: string): string {
  return path.slice(path.lastIndexOf('.') + 1);
}

/** Returns true if the key resembles a part of the candidate, as `voise` resembles a part of `voice_id`. */
function hasNearPart(key: string, candidate: string): boolean {
  if (!candidate.includes('_')) return false;
  return (
    nearestCandidate(
      key,
      candidate.split('_').filter((part) => part.length > 3),
    ) !== undefined
  );
}

/** The value forms that a setting accepts, for the checks and for the JSON Schema. `text` stands for a plain string. */
export const settingForms = z.registry<{
  readonly forms: readonly ('$env' | '$secret' | 'text' | 'any')[];
}>();
