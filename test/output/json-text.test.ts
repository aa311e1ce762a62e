import fc from 'fast-check';
import { expect, it } from 'vitest';
import { jsonText, snakeCased } from '../../src/output/json-text.ts';

it('formats a document as JSON.stringify does, and escapes what a terminal could interpret', () => {
  const value = fc.jsonValue({ maxDepth: 3 });
  const document = fc.oneof(fc.array(value), fc.dictionary(fc.string(), fc.oneof(value, fc.constant(undefined))));
  fc.assert(
    fc.property(document, (given) => {
      const text = jsonText(given);
      expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(given)));
      const isPlain = /^[ -~]*$/.test(JSON.stringify(given));
      if (isPlain) expect(text).toBe(`${JSON.stringify(given, undefined, 2)}\n`);
    }),
    { numRuns: 500 },
  );
  expect(jsonText({ a: ['\u001b\u202e'], b: '\u200b\n' })).toBe(
    '{\n  "a": [\n    "\\u001b\\u202e"\n  ],\n  "b": "\\u200b\\n"\n}\n',
  );
});

it('writes field names in snake_case, and does not change kinds and values', () => {
  const document = { checkedAt: 'checkedAt', last: [{ dashboard: { PhoneNumber: 'https://a.example.com' } }] };
  const written = { checked_at: 'checkedAt', last: [{ dashboard: { PhoneNumber: 'https://a.example.com' } }] };
  expect(snakeCased(document)).toEqual(written);
});
