import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  canonicalJson,
  isDeeperThan,
  isObject,
  type Json,
  jsonEqual,
  setOwn,
  sortKeys,
} from '../../src/values/json.ts';
import { json } from './arbitrary.ts';

/** Returns the same value with its keys inserted in the reverse order. */
function reversed(value: Json): Json {
  if (Array.isArray(value)) return value.map(reversed);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, inner]) => [key, reversed(inner as Json)]),
  );
}

describe('equality', () => {
  it('ignores the order of keys, like the canonical text', () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(jsonEqual(value, reversed(value))).toBe(true);
        expect(canonicalJson(reversed(value))).toBe(canonicalJson(value));
        expect(JSON.parse(canonicalJson(value))).toEqual(value);
      }),
    );
  });

  it('is equivalent to equality of the canonical texts', () => {
    fc.assert(
      fc.property(json, json, (a, b) => {
        expect(jsonEqual(a, b)).toBe(canonicalJson(a) === canonicalJson(b));
        expect(jsonEqual([a, b], [b, a])).toBe(jsonEqual(a, b));
      }),
    );
  });

  it.each<{ reason: string; a: Json; b: Json }>([
    { reason: 'an empty list is not an empty object', a: [], b: {} },
    { reason: 'null is not an empty object', a: null, b: {} },
    { reason: 'a number is not its text', a: 1, b: '1' },
    { reason: 'a key with null counts', a: { a: null }, b: {} },
    { reason: 'the same number of keys is not the same keys', a: { a: 1 }, b: { b: 1 } },
    { reason: 'an inherited property is not a key', a: { toString: null }, b: { valueOf: null } },
    { reason: 'the order of a list counts', a: [1, 2], b: [2, 1] },
    { reason: 'a longer list is another', a: [1], b: [1, 1] },
  ])('fails: $reason', ({ a, b }) => {
    expect(jsonEqual(a, b)).toBe(false);
    expect(jsonEqual(b, a)).toBe(false);
  });
});

describe('own property', () => {
  it('may be called __proto__', () => {
    const target: Record<string, Json> = {};
    setOwn(target, '__proto__', { polluted: true });
    expect(Object.keys(target)).toEqual(['__proto__']);
    expect(Object.getPrototypeOf(target)).toBe(Object.prototype);
    expect(canonicalJson(sortKeys(target))).toBe('{"__proto__":{"polluted":true}}');
  });
});

describe('depth', () => {
  it.each([
    { value: [], deepest: 1 },
    { value: { a: 1, b: [{}] }, deepest: 3 },
  ])('of $value is $deepest', ({ value, deepest }) => {
    expect(isDeeperThan(value, deepest)).toBe(false);
    expect(isDeeperThan(value, deepest - 1)).toBe(true);
  });

  it('is measured only up to the given maximum, so that no value is too deep to measure', () => {
    let deep: Json = 1;
    for (let level = 0; level < 200_000; level++) deep = [deep];
    expect(isDeeperThan(deep, 100)).toBe(true);
  });
});
