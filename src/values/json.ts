import { attempt } from '../problems/attempt.ts';

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

/** A deeply read-only version of a type. */
export type Immutable<T> = T extends readonly (infer Item)[]
  ? readonly Immutable<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: Immutable<T[Key]> }
    : T;

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Parses JSON. Returns undefined if the text is invalid. */
export function tryParseJson(text: string): unknown {
  return attempt((): unknown => JSON.parse(text));
}

/** Removes duplicate items. Keeps the order of first appearance. */
export function distinct<T>(items: readonly T[]): T[] {
  return [...new Map(items.map((item) => [JSON.stringify(item), item])).values()];
}

/** Compares JSON values deeply. The order of an object's keys does not matter. */
export function jsonEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, index) => jsonEqual(item, b[index]));
  }
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && jsonEqual(a[key], b[key]))
  );
}

/** Returns the same text for equal JSON values, for digests and for comparing sets. A key whose value is undefined counts as absent. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(sortKeys(value as Json));
}

/** Returns the value with the keys of all objects sorted by code units. */
export function sortKeys(value: Json): Json {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (!isObject(value)) return value;
  const sorted: Record<string, Json> = {};
  for (const key of Object.keys(value).sort()) setOwn(sorted, key, sortKeys(value[key] as Json));
  return sorted;
}

/** Applies `change` to each item of an array or field of an object, and returns a copy. Returns any other value unchanged. */
export function mapParts<In, Out>(value: In, change: (part: In, key: string | number) => Out): Out {
  if (Array.isArray(value)) return value.map((item: In, index) => change(item, index)) as Out;
  if (!isObject(value)) return value as unknown as Out;
  const mapped: Record<string, Out> = {};
  for (const key of Object.keys(value)) setOwn(mapped, key, change(value[key] as In, key));
  return mapped as Out;
}

/** Returns a copy in which all strings are changed, except keys. */
export function mapStrings(value: Json, change: (text: string) => string): Json {
  return typeof value === 'string' ? change(value) : mapParts<Json, Json>(value, (part) => mapStrings(part, change));
}

export function withoutUndefined<T extends object>(value: T): Partial<T> {
  return Object.fromEntries(Object.entries(value).filter(([, part]) => part !== undefined)) as Partial<T>;
}

/** Assigns an own property, even for the key `__proto__`. */
export function setOwn<T>(target: Record<string, T>, key: string, value: T): void {
  if (key === '__proto__')
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  else target[key] = value;
}

/**
 * Returns the sum of the sizes of a value and all its parts; 0 for undefined. Stops above `max`. A part that occurs twice counts twice.
 * @param sizeOfPart returns the size of a part without its own parts.
 */
export function totalSize(value: Json | undefined, max: number, sizeOfPart: (part: Json) => number): number {
  let size = 0;
  const open = [value];
  for (let next = open.pop(); next !== undefined && size <= max; next = open.pop()) {
    size += sizeOfPart(next);
    if (typeof next === 'object' && next !== null) for (const item of Object.values(next)) open.push(item);
  }
  return size;
}

/** Returns the number of characters of a value without its parts, for {@link totalSize}. A value other than a string counts as one. */
export function lengthOfPart(part: Json): number {
  if (typeof part === 'string') return part.length;
  if (typeof part !== 'object' || part === null) return 1;
  return Object.keys(part).reduce((length, key) => length + key.length, 1);
}

/** True if the value contains a number that was not read exactly: an integer with too many digits, or an infinite number. */
export function hasInexactNumber(value: unknown): boolean {
  if (typeof value === 'number')
    return Number.isInteger(value) ? !Number.isSafeInteger(value) : !Number.isFinite(value);
  return typeof value === 'object' && value !== null && Object.values(value).some(hasInexactNumber);
}

/** True if arrays and objects are nested more than `levels` deep. Does not visit deeper levels. */
export function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) return value.some((item) => isDeeperThan(item, levels - 1));
  for (const key in value) if (isDeeperThan((value as JsonObject)[key], levels - 1)) return true;
  return false;
}
