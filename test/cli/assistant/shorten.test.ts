import fc from 'fast-check';
import { expect, it } from 'vitest';
import { shortenToFit, shorterLists, shorterStrings, withVisibleControls } from '../../../src/cli/assistant/shorten.ts';
import type { Json } from '../../../src/values/json.ts';
import { UNSAFE } from '../../../src/values/unsafe-text.ts';

const sizeOf = (value: unknown): number => JSON.stringify(value).length;
const record = fc.record({ name: fc.string({ maxLength: 2000 }), tags: fc.array(fc.string({ maxLength: 20 })) });

it('leaves a result that fits unchanged, and notes what it omits from others', () => {
  fc.assert(
    fc.property(fc.array(record, { maxLength: 60 }), fc.integer({ min: 500, max: 20_000 }), (records, most) => {
      const fitting = shortenToFit(
        { records },
        [...shorterStrings, ...shorterLists],
        ({ result }) => sizeOf(result) <= most,
      );
      if (sizeOf({ records }) <= most) expect(fitting).toEqual({ result: { records }, notes: [] });
      else {
        expect(sizeOf(fitting?.result)).toBeLessThanOrEqual(most);
        expect(fitting?.notes.length).toBeGreaterThan(0);
      }
    }),
  );
});

it('never cuts a string inside a character, and says how much is missing', () => {
  const [text] = shorterStrings.map(({ shorten }) => shorten('😀'.repeat(2000)));
  expect(text).toBe(`${'😀'.repeat(500)}… (3000 more characters)`);
  const odd = shorterStrings.map(({ shorten }) => shorten(`x${'😀'.repeat(2000)}`));
  for (const each of odd) expect(String(each)).toMatch(/^x(😀)+… /u);
});

it('makes every control character visible, also in keys', { tags: ['long'] }, () => {
  fc.assert(
    fc.property(fc.json({ stringUnit: 'binary', maxDepth: 2 }), (text) => {
      const shown = JSON.stringify(withVisibleControls(JSON.parse(text) as Json));
      expect(shown.match(UNSAFE)).toBeNull();
    }),
  );
  expect(withVisibleControls({ '\u202ea': '\u001b[2J\n\tb' })).toEqual({ '\\u202ea': '\\u001b[2J\n\tb' });
  expect(withVisibleControls(JSON.parse('{"__proto__":{"a":1}}'))).toEqual(JSON.parse('{"__proto__":{"a":1}}'));
});
