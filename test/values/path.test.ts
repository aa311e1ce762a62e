// Vitest's own strict equality fails for a key called constructor.
import { deepStrictEqual } from 'node:assert/strict';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isObject } from '../../src/values/json.ts';
import { flatten, isUnder, rootOf, unflatten, valueAt } from '../../src/values/path.ts';
import { isSymbolic, Secret, type Value } from '../../src/values/value.ts';
import { key, objectOf, value } from './arbitrary.ts';

const nothing = () => false;
const spec = objectOf(value);

/** Removes empty objects, which have no leaf, and values that consist only of them. */
function withoutEmpty(from: Value): Value | undefined {
  if (!isObject(from) || isSymbolic(from)) return from;
  const kept = Object.entries(from).flatMap(([name, inner]) => {
    const left = withoutEmpty(inner as Value);
    return left === undefined ? [] : [[name, left] as const];
  });
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

describe('leaves of a spec', () => {
  it('restore the spec, except for its empty objects', () => {
    fc.assert(
      fc.property(spec, (from) => {
        deepStrictEqual(unflatten(flatten(from, nothing)), withoutEmpty(from) ?? {});
      }),
    );
  });

  it('are at their paths', () => {
    fc.assert(
      fc.property(spec, (from) => {
        for (const [path, leaf] of flatten(from, nothing)) {
          expect(valueAt(from, path)).toBe(leaf);
          expect(isUnder(path, rootOf(path))).toBe(true);
          expect(Object.hasOwn(from, rootOf(path))).toBe(true);
        }
      }),
    );
  });

  it('do not include parts of opaque values', () => {
    fc.assert(
      fc.property(spec, key, (from, opaque) => {
        const leaves = flatten(from, (path) => path === opaque);
        const below = [...leaves.keys()].filter((path) => path.startsWith(`${opaque}.`));
        expect(below).toEqual([]);
        if (Object.hasOwn(from, opaque)) expect(leaves.get(opaque)).toBe(from[opaque]);
      }),
    );
  });

  it('keep arrays and special values whole', () => {
    const secret = new Secret('KEY', 'text');
    const leaves = flatten({ a: { b: [{ c: 1 }], d: secret }, e: {} }, nothing);
    expect([...leaves]).toEqual([
      ['a.b', [{ c: 1 }]],
      ['a.d', secret],
    ]);
  });
});

describe('path', () => {
  it.each([
    { path: 'a.b', prefix: 'a', under: true },
    { path: 'a', prefix: 'a', under: true },
    { path: 'ab', prefix: 'a', under: false },
    { path: 'a', prefix: 'a.b', under: false },
  ])('$path under $prefix: $under', ({ path, prefix, under }) => {
    expect(isUnder(path, prefix)).toBe(under);
  });

  it('has no value if a key is missing, inherited or below a leaf', () => {
    const root = { a: { b: null, list: [1] } };
    for (const path of ['x', 'a.x', 'a.b.c', 'a.list.0', 'a.toString', '__proto__.a']) {
      expect(valueAt(root, path)).toBeUndefined();
    }
    expect(valueAt(root, 'a.b')).toBeNull();
  });
});
