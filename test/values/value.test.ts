// Vitest's own strict equality fails for a key called constructor.
import { deepStrictEqual } from 'node:assert/strict';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  fromForms,
  isTainted,
  Join,
  joined,
  mapSymbolicLeaves,
  Reference,
  references,
  revealSecrets,
  Secret,
  symbolicLeaves,
  toForms,
  Unset,
  withReferences,
} from '../../src/values/value.ts';
import { json, secretNamed, value } from './arbitrary.ts';

describe('forms of a value', () => {
  it('parse to the same value', () => {
    fc.assert(
      fc.property(value, (from) => {
        deepStrictEqual(fromForms(toForms(from), secretNamed), from);
      }),
    );
  });

  it('survive JSON', () => {
    fc.assert(
      fc.property(value, (from) => {
        const written = JSON.parse(JSON.stringify(toForms(from)));
        expect(toForms(fromForms(written, secretNamed))).toEqual(toForms(from));
      }),
    );
  });

  it('contain the names of secrets and never their text', () => {
    const from = { a: new Secret('KEY', 'plain text'), b: new Join(['x', new Secret('KEY', 'plain text')], '-') };
    expect(toForms(from)).toEqual({ a: { $secret: 'KEY' }, b: { $join: ['x', { $secret: 'KEY' }], separator: '-' } });
  });

  it('distinguish a literal from a form', () => {
    const literal = { $ref: 'Agent/x', $secret: 'KEY' };
    expect(toForms({ tools: [literal] })).toEqual({ tools: [{ $literal: literal }] });
    expect(fromForms({ tools: [{ $literal: literal }] }, secretNamed)).toEqual({ tools: [literal] });
  });
});

describe('value to be sent', () => {
  it('is plain JSON without forms', () => {
    fc.assert(
      fc.property(json, (from) => {
        deepStrictEqual(revealSecrets(from), from);
      }),
    );
  });

  it('contains the text of secrets and joins', () => {
    const from = { key: new Secret('KEY', 'k'), prompt: new Join(['a', new Secret('KEY', 'k'), 1], '\n') };
    expect(revealSecrets(from)).toEqual({ key: 'k', prompt: 'a\nk\n1' });
  });

  it.each([
    { reason: 'an unset secret', from: new Secret('KEY', undefined), message: 'the secret KEY is not set' },
    { reason: 'an unresolved reference', from: new Reference('Agent', 'x'), message: 'Agent/x has no value' },
    { reason: 'an unset variable', from: new Unset('NAME'), message: 'NAME has no value' },
  ])('is refused with $reason', ({ from, message }) => {
    expect(() => revealSecrets({ a: [new Join(['x', from], '')] })).toThrow(message);
  });
});

describe('secret', () => {
  it('reveals its text in only one way', () => {
    const secret = new Secret('KEY', 'plain text');
    const shown = [
      String(secret),
      `${secret}`,
      JSON.stringify({ secret }),
      inspect(secret, { showHidden: true, depth: 9 }),
      inspect({ a: [secret] }, { showHidden: true, depth: 9 }),
      JSON.stringify(Object.entries(secret)),
      JSON.stringify(structuredClone({ ...secret })),
    ];
    expect(shown.join('\n')).not.toContain('plain text');
    expect(secret.reveal()).toBe('plain text');
  });

  it('makes any containing value secret', () => {
    const secret = new Secret('KEY', 'k');
    expect(isTainted({ a: [{ b: new Join(['x', new Join([secret], '')], '') }] })).toBe(true);
    expect(isTainted({ a: [new Reference('Agent', 'x'), 'k'] })).toBe(false);
  });
});

describe('special values', () => {
  it('are found in order, including those inside joins', () => {
    const a = new Reference('Agent', 'a');
    const b = new Secret('B', 'b');
    const c = new Unset('C');
    const from = { x: [a, { y: new Join([b, 'text', new Join([c], '')], '') }], z: 'plain' };
    expect(symbolicLeaves(from)).toStrictEqual([a, b, c]);
    expect(references(from)).toEqual([a]);
  });

  it('that are not replaced keep the value unchanged', () => {
    fc.assert(
      fc.property(value, (from) => {
        deepStrictEqual(
          mapSymbolicLeaves(from, (special) => special),
          from,
        );
      }),
    );
  });

  it('become ids if the ids are known', () => {
    const known = new Reference('Agent', 'a');
    const open = new Reference('Agent', 'b');
    const idOf = ({ target }: Reference) => (target === 'a' ? '01A' : undefined);
    expect(withReferences({ list: [known, open], text: new Join(['id ', known], '') }, idOf)).toEqual({
      list: ['01A', open],
      text: 'id 01A',
    });
  });

  it('are the only reason to keep a join', () => {
    expect(joined(['a', 1, true], ', ')).toBe('a, 1, true');
    expect(joined([], ', ')).toBe('');
    const open = new Reference('Agent', 'a');
    expect(joined(['a', open], ', ')).toStrictEqual(new Join(['a', open], ', '));
  });
});
