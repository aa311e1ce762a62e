import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { diffTexts } from '../../src/output/text-diff.ts';
import { valueText } from '../../src/output/value-text.ts';
import type { Json } from '../../src/values/json.ts';
import { evil, unsafe } from './sample-styles.ts';

describe('value on one line', () => {
  it.each<{ reason: string; value: Json; text: string }>([
    { reason: 'a plain string', value: 'Billing', text: 'Billing' },
    { reason: 'a number in a string', value: '1.1', text: '"1.1"' },
    { reason: 'a number', value: 1.1, text: '1.1' },
    { reason: 'a boolean in a string', value: 'true', text: '"true"' },
    { reason: 'null', value: null, text: 'null' },
    { reason: 'nothing', value: '', text: '""' },
    { reason: 'a string that resembles our output', value: '(known after all)', text: '"(known after all)"' },
    { reason: 'an arrow in a string', value: 'a -> b', text: '"a -> b"' },
    { reason: 'a list', value: ['a', 'b, c'], text: '[a, "b, c"]' },
    { reason: 'an object', value: { a: 1, b: {} }, text: '{ a: 1, b: {} }' },
    { reason: 'a secret', value: { $secret: 'KEY' }, text: '(secret)' },
    { reason: 'a fingerprint', value: { $fingerprint: 'f1' }, text: '(secret)' },
    {
      reason: 'a joined secret',
      value: { $join: ['Bearer ', { $secret: 'KEY' }], separator: '' },
      text: '(secret)',
    },
    {
      reason: 'a future id',
      value: { unknown_until_apply: 'Agent/a' },
      text: '(id of Agent/a, known after apply)',
    },
    { reason: 'a literal', value: { $literal: { $secret: 'x' } }, text: '{ $secret: x }' },
  ])('is shown as expected: $reason', ({ value, text }) => {
    expect(valueText(value)).toBe(text);
  });

  it('is YAML of the same value, unless it stands for something else', () => {
    const plain = fc.letrec<{ value: Json }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 2 },
        fc.string(),
        fc.integer(),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(fc.stringMatching(/^[a-z :#]{1,6}$/), tie('value'), { maxKeys: 3 }),
      ),
    })).value;
    fc.assert(
      fc.property(plain, (value) => {
        expect(parse(`[ ${valueText([value])} ]`)).toEqual([[value]]);
      }),
      { numRuns: 300 },
    );
  });

  it('is safe to print', () => {
    expect(valueText([evil, { [evil]: evil }])).not.toMatch(unsafe);
  });
});

describe('diff of texts', () => {
  const lines = fc.array(fc.stringMatching(/^[ab]{1,3}$/), { maxLength: 12 }).map((all) => all.join('\n'));

  it('with full context has exactly the removed and added lines', () => {
    fc.assert(
      fc.property(lines, lines, (before, after) => {
        const diff = diffTexts(before, after);
        const count = (text: string) => text.split('\n').length;
        const went = diff.filter(({ sign }) => sign === '-').length;
        const came = diff.filter(({ sign }) => sign === '+').length;
        expect(count(after) - count(before)).toBe(came - went);
        expect(diff.length === 0).toBe(before === after);
        const old = before.split('\n');
        for (const { sign, text } of diff) if (sign === '-') expect(old).toContain(text);
      }),
    );
  });

  it('shows the positions of its parts', () => {
    const text = Array.from({ length: 30 }, (_, index) => `line ${index + 1}`);
    const diff = diffTexts(text.join('\n'), text.with(9, 'ten').with(24, 'new').join('\n'));
    expect(diff.filter(({ sign }) => sign === '@').map(({ text: place }) => place)).toEqual(['line 8', 'line 23']);
    expect(diff.filter(({ sign }) => sign === ' ')).toHaveLength(8);
  });

  it('of one long line shows the difference', () => {
    const start = 'word '.repeat(100);
    const [went, came] = diffTexts(`${start}old ${start}`, `${start}new ${start}`);
    expect(went?.text).toMatch(/^….{60}old.{60}…$/);
    expect(came?.text).toMatch(/^….{60}new.{60}…$/);
  });

  it('of unrelated texts ends soon', () => {
    const text = (word: string) => Array.from({ length: 20_000 }, (_, index) => `${word} ${index}`).join('\n');
    expect(diffTexts(text('a'), text('b'))).toHaveLength(40_000);
  });

  it('is safe to print', () => {
    for (const { text } of diffTexts(evil, `${evil}!\n${evil}`)) expect(text).not.toMatch(unsafe);
  });
});
