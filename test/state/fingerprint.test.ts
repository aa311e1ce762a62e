import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createFingerprints, type Fingerprints, mask, newSalt, secretTexts } from '../../src/state/fingerprint.ts';
import { jsonEqual } from '../../src/values/json.ts';
import { Join, Reference, Secret, Unset, type Value } from '../../src/values/value.ts';

describe('fingerprints', () => {
  it('distinguish secrets, are stable for the same secret, and differ between states', async () => {
    const salt = newSalt();
    const [first, again, other] = [createFingerprints(salt), createFingerprints(salt), createFingerprints(newSalt())];
    await Promise.all([first.prepare(['a', 'b', 'a', 'c', '']), first.prepare(['a']), again.prepare(['a'])]);
    await other.prepare(['a']);
    expect(first.of('a')).toBe(again.of('a'));
    expect(new Set([first.of('a'), first.of('b'), first.of('c'), first.of(''), other.of('a')]).size).toBe(5);
    expect(first.of('a')).toMatch(/^[\w-]{22,}$/);
  });

  it('refuse an unprepared value without printing it', () => {
    expect(() => createFingerprints('s').of('hunter2')).toThrow(/^(?!.*hunter2).*prepared/);
  });

  it('have distinct salts', () => {
    expect(newSalt()).not.toBe(newSalt());
  });
});

/** Replaces the slow hash by an injective function. */
const plain: Fingerprints = { prepare: () => Promise.resolve(), of: (value) => `f:${value}` };

describe('mask', () => {
  const key = new Secret('KEY', 'hunter2');
  const cases: readonly { reason: string; value: Value; masked: unknown }[] = [
    { reason: 'plain values stay', value: { a: [1, 'x', null, true] }, masked: { a: [1, 'x', null, true] } },
    { reason: 'a secret', value: key, masked: { $fingerprint: 'f:hunter2' } },
    {
      reason: 'a nested secret',
      value: { headers: [{ value: new Join(['Bearer ', key], '') }] },
      masked: { headers: [{ value: { $join: ['Bearer ', { $fingerprint: 'f:hunter2' }], separator: '' } }] },
    },
    {
      reason: 'an object that looks like a fingerprint',
      value: { a: { $fingerprint: 'f:hunter2' } },
      masked: { a: { $literal: { $fingerprint: 'f:hunter2' } } },
    },
    {
      reason: 'an object that looks like a literal',
      value: { $literal: { $x: 1 } },
      masked: { $literal: { $literal: { $literal: { $x: 1 } } } },
    },
  ];

  it.each(cases)('$reason', ({ value, masked }) => {
    expect(mask(value, plain)).toEqual(masked);
  });

  it('maps different values to different forms', () => {
    const value = fc.letrec<{ value: Value }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        fc.constantFrom<Value[]>('x', 1, null),
        fc.constantFrom('x', 'f:x').map((text) => new Secret('S', text)),
        fc.array(tie('value'), { maxLength: 2 }),
        fc.array(tie('value'), { maxLength: 2 }).map((parts) => new Join(parts, '')),
        fc.dictionary(fc.constantFrom('a', '$fingerprint', '$join', '$literal', 'separator'), tie('value'), {
          maxKeys: 2,
        }),
      ),
    })).value;
    fc.assert(
      fc.property(value, value, (a, b) => {
        expect(jsonEqual(mask(a, plain), mask(b, plain))).toBe(same(a, b));
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    { reason: 'a reference', value: [new Reference('Agent', 'a')] },
    { reason: 'an unset variable', value: { a: new Unset('X') } },
    { reason: 'an unset secret', value: new Secret('X', undefined) },
  ])('refuses $reason', ({ value }) => {
    expect(() => mask(value, plain)).toThrow();
  });

  it('lists each secret once', () => {
    expect(secretTexts({ a: key, b: [new Join(['x', key, new Secret('B', 'b')], '')] })).toEqual(['hunter2', 'b']);
  });
});

function same(a: Value, b: Value): boolean {
  if (a instanceof Secret || b instanceof Secret) {
    return a instanceof Secret && b instanceof Secret && a.reveal() === b.reveal();
  }
  if (a instanceof Join || b instanceof Join) {
    return a instanceof Join && b instanceof Join && same(a.parts, b.parts);
  }
  if (Array.isArray(a) || Array.isArray(b)) {
    return (
      Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((item, index) => same(item, b[index]))
    );
  }
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b;
  const [left, right] = [new Map(Object.entries(a)), new Map(Object.entries(b))];
  return left.size === right.size && [...left].every(([key, item]) => right.has(key) && same(item, right.get(key)));
}
