import { attempt } from '../problems/attempt.ts';

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

/** The same type with nothing in it assignable. */
export type Immutable<T> = T extends readonly (infer Item)[]
  ? readonly Immutable<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: Immutable<T[Key]> }
    : T;

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function parsedJson(text: string): unknown {
  return attempt((): unknown => JSON.parse(text));
}

/** Each once, in the order in which they come first. */
export function distinct<T>(items: readonly T[]): T[] {
  return [...new Map(items.map((item) => [JSON.stringify(item), item])).values()];
}

/** Deep equality of JSON values; the order of an object's keys does not count, that of an array's items does. */
export function jsonEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, index) => jsonEqual(item, b[index]));
  }
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && jsonEqual(a[key], b[key]))
  );
}

/** One text for each JSON value, whatever the order of its keys: for digests and for comparing as a set. */
export function canonicalJson(value: Json): string {
  return JSON.stringify(sortKeys(value));
}

/** The same value with the keys of every object in code-unit order. */
export function sortKeys(value: Json): Json {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (!isObject(value)) return value;
  const sorted: Record<string, Json> = {};
  for (const key of Object.keys(value).sort()) setOwn(sorted, key, sortKeys(value[key] as Json));
  return sorted;
}

/** A copy in which each item or field of an array or object is what `change` makes of it; any other value as it is. */
export function mapParts<In, Out>(value: In, change: (part: In, key: string | number) => Out): Out {
  if (Array.isArray(value)) return value.map((item: In, index) => change(item, index)) as Out;
  if (!isObject(value)) return value as unknown as Out;
  const mapped: Record<string, Out> = {};
  for (const key of Object.keys(value)) setOwn(mapped, key, change(value[key] as In, key));
  return mapped as Out;
}

/** Assigns an own property even when the key is `__proto__`. */
export function setOwn<T>(target: Record<string, T>, key: string, value: T): void {
  if (key === '__proto__')
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  else target[key] = value;
}

/** True where arrays and objects stand in one another more than `levels` deep. Looks no deeper than that. */
export function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  const items: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  return items.some((item) => isDeeperThan(item, levels - 1));
}
