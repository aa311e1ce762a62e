import { describe, expect, it } from 'vitest';
import { mergePatch, withDefaults } from '../../src/manifests/layers.ts';
import type { Json } from '../../src/values/json.ts';

describe('merge patch', () => {
  it.each<{ reason: string; target: Json; patch: Json; expected: Json }>([
    { reason: 'a value replaces', target: { a: 'b' }, patch: { a: 'c' }, expected: { a: 'c' } },
    { reason: 'a new key is added', target: { a: 'b' }, patch: { b: 'c' }, expected: { a: 'b', b: 'c' } },
    { reason: 'null removes', target: { a: 'b', b: 'c' }, patch: { a: null }, expected: { b: 'c' } },
    {
      reason: 'a list is replaced as a whole',
      target: { a: [1, 2] },
      patch: { a: [3] },
      expected: { a: [3] },
    },
    {
      reason: 'a value is replaced by an object',
      target: { a: 'b' },
      patch: { a: { b: 1 } },
      expected: { a: { b: 1 } },
    },
    {
      reason: 'an object is replaced by a value',
      target: { a: { b: 1 } },
      patch: { a: 2 },
      expected: { a: 2 },
    },
    {
      reason: 'objects merge',
      target: { a: { b: 1, c: 2 } },
      patch: { a: { b: 3, c: null } },
      expected: { a: { b: 3 } },
    },
    {
      reason: 'null in a new object has no effect',
      target: {},
      patch: { a: { b: { c: null } } },
      expected: { a: { b: {} } },
    },
    { reason: 'null inside a list stays', target: {}, patch: { a: [null] }, expected: { a: [null] } },
    { reason: 'existing null stays', target: { e: null }, patch: { a: 1 }, expected: { e: null, a: 1 } },
    {
      reason: 'a form replaces a form',
      target: { a: { $env: 'X', default: 'y' } },
      patch: { a: { $env: 'Z' } },
      expected: { a: { $env: 'Z' } },
    },
    {
      reason: 'an object replaces a form',
      target: { a: { $var: 'x' } },
      patch: { a: { b: 1 } },
      expected: { a: { b: 1 } },
    },
    {
      reason: 'a form replaces an object',
      target: { a: { b: 1 } },
      patch: { a: { $literal: { c: null } } },
      expected: { a: { $literal: { c: null } } },
    },
  ])('is applied as expected: $reason', ({ target, patch, expected }) => {
    const before = structuredClone({ target, patch });
    expect(mergePatch(target, patch)).toEqual(expected);
    expect({ target, patch }).toEqual(before);
  });
});

describe('defaults', () => {
  it.each<{ reason: string; value: Json; defaults: Json; expected: Json }>([
    { reason: 'fill missing fields', value: { a: 1 }, defaults: { a: 2, b: 3 }, expected: { a: 1, b: 3 } },
    {
      reason: 'fill objects',
      value: { a: { b: 1 } },
      defaults: { a: { b: 2, c: 3 } },
      expected: { a: { b: 1, c: 3 } },
    },
    { reason: 'do not replace null', value: { a: null }, defaults: { a: 2 }, expected: { a: null } },
    { reason: 'do not mix lists', value: { a: [1] }, defaults: { a: [2, 3] }, expected: { a: [1] } },
    {
      reason: 'do not mix forms',
      value: { a: { $env: 'X' } },
      defaults: { a: { $env: 'Y', default: 'z' } },
      expected: { a: { $env: 'X' } },
    },
    { reason: 'keep their own null', value: {}, defaults: { a: null }, expected: { a: null } },
    { reason: 'do not replace values that are not objects', value: 'x', defaults: { a: 1 }, expected: 'x' },
  ])('$reason', ({ value, defaults, expected }) => {
    expect(withDefaults(value, defaults)).toEqual(expected);
  });
});
