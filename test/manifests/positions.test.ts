import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Document, isMap, Scalar } from 'yaml';
import { parseYaml } from '../../src/manifests/parse-documents.ts';
import { scalarOffset } from '../../src/manifests/positions.ts';

const styles = [
  Scalar.PLAIN,
  Scalar.QUOTE_SINGLE,
  Scalar.QUOTE_DOUBLE,
  Scalar.BLOCK_LITERAL,
  Scalar.BLOCK_FOLDED,
] as const;
const words = fc.array(
  fc.constantFrom('spec.name', '==', '"a"', "'b'", '||', 'has(x)', '\\', 'x'.repeat(30), '\u{1F600}', '#', ': '),
  { minLength: 1, maxLength: 25 },
);
const breaks = fc.constantFrom(' ', ' ', ' ', '\n', '\n\n', '\n  ');

it('finds each character of a scalar in the text, in any style', () => {
  fc.assert(
    fc.property(
      words,
      fc.array(breaks, { minLength: 1 }),
      fc.constantFrom(...styles),
      fc.boolean(),
      (parts, gaps, type, crlf) => {
        const value = parts.map((word, index) => `${index === 0 ? '' : gaps[index % gaps.length]}${word}`).join('');
        const scalar = new Scalar(value);
        scalar.type = type;
        const written = new Document({ list: [{ rule: scalar }] }).toString({ lineWidth: 60 });
        const text = crlf ? written.replaceAll('\n', '\r\n') : written;
        const [document] = parseYaml(text);
        const node = document?.getIn(['list', 0, 'rule'], true) as Scalar;
        expect(isMap(document?.contents)).toBe(true);
        for (let index = 0; index < String(node.value).length; index++) {
          const wanted = String(node.value).charAt(index);
          // An escaped character has no position.
          if (/[\s"\\]/.test(wanted)) continue;
          const offset = scalarOffset(node, text, index) ?? -1;
          expect(text.charAt(offset), `${index} of ${JSON.stringify(text)}`).toBe(wanted);
        }
      },
    ),
    { numRuns: 300 },
  );
});

it('finds no position in nodes other than strings', () => {
  const [document] = parseYaml('a: 1\n');
  expect(scalarOffset(document?.getIn(['a'], true), 'a: 1\n', 0)).toBeUndefined();
});
