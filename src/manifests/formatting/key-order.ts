import { z } from 'zod';
import { isObject, type Json, setOwn } from '../../values/json.ts';
import type { DocumentPath } from '../finding.ts';
import { isForm } from '../layers.ts';

/** The order of an object's keys, and of the values inside it. */
export interface KeyOrder {
  /** These keys come first. Other keys follow in their original order. */
  readonly keys: readonly string[];
  /** Returns the order for the value of a key, or for an item of a list. */
  readonly inner: (key: string | number) => KeyOrder | undefined;
}

/** Returns the key order of an object, record or array schema, otherwise undefined. @param schemaOf returns the schema at a path. */
export function schemaOrder(schemaOf: (path: DocumentPath) => unknown, path: DocumentPath = []): KeyOrder | undefined {
  const schema = schemaOf(path);
  const isObjectSchema = schema instanceof z.ZodObject;
  if (!isObjectSchema && !(schema instanceof z.ZodRecord) && !(schema instanceof z.ZodArray)) return undefined;
  return {
    keys: isObjectSchema ? Object.keys(schema.shape) : [],
    inner: (key) => schemaOrder(schemaOf, [...path, key]),
  };
}

/** Returns the indices of keys in sorted order. A merge key comes first. The keys of a value form keep their order. */
export function sortedIndices(keys: readonly string[], order: KeyOrder | undefined): number[] {
  const indices = keys.map((_, index) => index);
  if (order === undefined || keys.some((key) => key.startsWith('$'))) return indices;
  const rank = (key: string): number => {
    if (key === '<<') return -1;
    const known = order.keys.indexOf(key);
    return known === -1 ? order.keys.length : known;
  };
  return indices.sort((a, b) => rank(keys[a] ?? '') - rank(keys[b] ?? '') || a - b);
}

export function withOrderedKeys(value: Json, order: KeyOrder | undefined): Json {
  if (Array.isArray(value)) return value.map((item: Json, index) => withOrderedKeys(item, order?.inner(index)));
  if (!isObject(value) || isForm(value)) return value;
  const keys = Object.keys(value);
  const sorted: Record<string, Json> = {};
  for (const index of sortedIndices(keys, order)) {
    const key = keys[index] ?? '';
    setOwn(sorted, key, withOrderedKeys(value[key] as Json, order?.inner(key)));
  }
  return sorted;
}
