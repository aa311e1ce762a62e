import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { yamlOptions } from '../../src/manifests/parse-documents.ts';
import { type ManifestDraft, manifestText } from '../../src/runs/export/manifest-text.ts';
import type { Json } from '../../src/values/json.ts';
import { unflatten } from '../../src/values/path.ts';

const pieces = fc.constantFrom(
  ...[
    'a',
    'word',
    'Line 12',
    'yes',
    'null',
    '~',
    '0',
    '-1',
    '.5',
    '1e3',
    'e00000',
    '12:30:45',
    '2001-01-01',
    '<<',
    '0x1f',
  ],
  ...[' ', '\n', '\n\n', '\t', '\r', ': ', ':', ' #', '#', '- ', '-', '? ', '?', '{', '}', '[', ']', ',', '&', '*'],
  ...['!', '|', '>', "'", '"', '%', '@', '`', '---', '...', '\\', '\\n', '\u0007', '\u202e', '\ufeff', 'ß', '😀', '$'],
  'x'.repeat(60),
  'k'.repeat(1030),
);
const text = fc.oneof(
  { weight: 4, arbitrary: fc.array(pieces, { maxLength: 5 }).map((parts) => parts.join('')) },
  fc.string({ unit: 'grapheme' }),
);
const key = fc
  .oneof(text, fc.constantFrom('$ref', '$secret', '$literal', '$join', 'model'))
  .filter((each) => each !== '__proto__');
const leaf = fc.oneof({ weight: 4, arbitrary: text }, fc.constantFrom(null, true, false, 0, -0, -1.5, 1e21, 1e-7, 42));
const { value } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthIdentifier: 'value' },
    leaf,
    fc.array(tie('value'), { maxLength: 3, depthIdentifier: 'value' }),
    fc.dictionary(key, tie('value'), { maxKeys: 3, noNullPrototype: true, depthIdentifier: 'value' }),
    fc.dictionary(key, text, { maxKeys: 2, noNullPrototype: true }),
  ),
}));
const path = fc.constantFrom('a', 'b', 'c.x', 'c.y', 'c.z.w', 'd.x');
const draft: fc.Arbitrary<ManifestDraft> = fc.record({
  kind: fc.constant('Agent'),
  name: fc.oneof(fc.constantFrom('line-1', '24h', 'no', '1e3'), fc.stringMatching(/^[a-z0-9]+(-[a-z0-9]+)?$/)),
  id: fc.option(text, { nil: undefined }),
  leaves: fc.dictionary(path, value, { maxKeys: 5 }).map((each) => new Map(Object.entries(each))),
  notes: fc
    .dictionary(
      fc.constantFrom('a', 'c', 'c.x', 'd.x'),
      text.map((each) => `see ${each}`),
    )
    .map((each) => new Map(Object.entries(each))),
  secrets: fc.uniqueArray(fc.record({ path, name: fc.constantFrom('KEY', 'A_KEY') }), {
    selector: (each) => each.path,
    maxLength: 3,
  }),
});

describe('text of a manifest', () => {
  it('parses to the same values', () => {
    fc.assert(
      fc.property(draft, (each) => {
        const written = manifestText(each);
        expect(parse(written, yamlOptions).spec).toEqual(unflatten(each.leaves));
      }),
      { numRuns: 600 },
    );
  });
});
