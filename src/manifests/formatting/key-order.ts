import { z } from 'zod';
import { isObject, type Json, setOwn } from '../../values/json.ts';
import { isForm } from '../layers.ts';
import { bare } from '../schema-fields.ts';

/** In which order the keys of an object are written, and those of what it holds. */
export interface KeyOrder {
  /** Keys that are not among them come last, as they were. */
  readonly keys: readonly string[];
  /** Of the value under a key, or of every item of a list. */
  readonly inner: (key: string | number) => KeyOrder | undefined;
}

/** The order of a schema's own fields; undefined where the schema says nothing of what is inside. */
export function schemaOrder(schema: unknown): KeyOrder | undefined {
  const inner = bare(schema);
  if (inner instanceof z.ZodObject) {
    const { shape } = inner;
    return {
      keys: Object.keys(shape),
      inner: (key) => (Object.hasOwn(shape, key) ? schemaOrder(shape[key]) : undefined),
    };
  }
  if (inner instanceof z.ZodRecord) return { keys: [], inner: () => schemaOrder(inner.valueType) };
  if (inner instanceof z.ZodArray) return { keys: [], inner: () => schemaOrder(inner.element) };
  return undefined;
}

/** Positions of keys in the order in which they are written. A merge key comes first, a value form stays as it is. */
export function sortedPositions(keys: readonly string[], order: KeyOrder | undefined): number[] {
  const positions = keys.map((_, index) => index);
  if (order === undefined || keys.some((key) => key.startsWith('$'))) return positions;
  const rank = (key: string): number => {
    if (key === '<<') return -1;
    const known = order.keys.indexOf(key);
    return known === -1 ? order.keys.length : known;
  };
  return positions.sort((a, b) => rank(keys[a] ?? '') - rank(keys[b] ?? '') || a - b);
}

export function inOrder(value: Json, order: KeyOrder | undefined): Json {
  if (Array.isArray(value)) return value.map((item: Json, index) => inOrder(item, order?.inner(index)));
  if (!isObject(value) || isForm(value)) return value;
  const keys = Object.keys(value);
  const sorted: Record<string, Json> = {};
  for (const position of sortedPositions(keys, order)) {
    const key = keys[position] ?? '';
    setOwn(sorted, key, inOrder(value[key] as Json, order?.inner(key)));
  }
  return sorted;
}
