import fc from 'fast-check';
import { Document, isCollection, isScalar, parseDocument, type Scalar, visit } from 'yaml';
import { yamlOptions } from '../../../src/manifests/parse-documents.ts';
import { plainValue } from '../../../src/manifests/plain-value.ts';
import type { Json } from '../../../src/values/json.ts';

const word = fc.constantFrom(
  'kind',
  'be',
  'always',
  'yes',
  '12',
  '~',
  '#',
  ':',
  '- x',
  '{',
  "it's",
  '"q"',
  '\t',
  'é',
  'a,b',
);
const line = fc.array(word, { maxLength: 4 }).map((words) => words.join(' '));
const text = fc.oneof(
  line,
  fc
    .array(
      fc.oneof(
        line,
        fc.constant(''),
        line.map((each) => `  ${each}`),
      ),
      { maxLength: 5 },
    )
    .map((lines) => lines.join('\n')),
  fc.string({ maxLength: 8 }),
);
const scalar: fc.Arbitrary<Json> = fc.oneof(
  { weight: 4, arbitrary: text },
  { weight: 1, arbitrary: fc.integer() },
  { weight: 1, arbitrary: fc.constantFrom(true, null, 0.25) },
);
const key = fc.stringMatching(/^[a-z_]{1,5}$/);
export const value: fc.Arbitrary<Json> = fc.letrec<{ any: Json }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    scalar,
    fc.array(tie('any'), { maxLength: 4 }),
    fc.dictionary(key, tie('any'), { maxKeys: 4, noNullPrototype: true }),
  ),
})).any;
/** An object with any contents. */
export const root = fc.dictionary(key, value, { minKeys: 1, maxKeys: 4, noNullPrototype: true });

const STYLES = ['PLAIN', 'QUOTE_SINGLE', 'QUOTE_DOUBLE', 'BLOCK_LITERAL', 'BLOCK_FOLDED'] as const;

export interface Layout {
  readonly styles: readonly number[];
  readonly indent: number;
  readonly indentSeq: boolean;
  readonly lineWidth: number;
  readonly crlf: boolean;
}

export const layout: fc.Arbitrary<Layout> = fc.record({
  styles: fc.array(fc.nat(9), { minLength: 7, maxLength: 23 }),
  indent: fc.integer({ min: 2, max: 4 }),
  indentSeq: fc.boolean(),
  lineWidth: fc.constantFrom(0, 40, 80),
  crlf: fc.boolean(),
});

/** Formats the value in some of the styles that people use. */
export function written(json: Json, { styles: picks, indent, indentSeq, lineWidth, crlf }: Layout): string {
  const document = new Document(json, yamlOptions);
  let turn = 0;
  const next = (): number => picks[turn++ % picks.length] ?? 0;
  visit(document, (at, node) => {
    // Keys are not written as blocks.
    const styles = at === 'key' ? STYLES.slice(0, 3) : STYLES;
    if (isScalar(node)) (node as Scalar).type = styles[next() % styles.length] ?? 'PLAIN';
    if (isCollection(node)) node.flow = next() === 0;
    if ((isScalar(node) || isCollection(node)) && next() === 1) node.comment = ' a comment';
    if (isScalar(node) && next() === 2) node.commentBefore = ' above';
    if (isScalar(node) && next() === 3) node.spaceBefore = true;
  });
  const text = document.toString({ indent, indentSeq, lineWidth });
  return crlf ? text.replaceAll('\n', '\r\n') : text;
}

/** Parses a text; undefined if it has an error. */
export function read(source: string): Json | undefined {
  const document = parseDocument(source, yamlOptions);
  if (document.errors.length > 0 || document.contents === null) return undefined;
  const { value: plain, problems } = plainValue(document.contents);
  return problems.length > 0 ? undefined : plain;
}

/** Returns every path in a value, except the root. */
export function pathsIn(json: Json, path: (string | number)[] = []): (string | number)[][] {
  if (typeof json !== 'object' || json === null) return path.length === 0 ? [] : [path];
  const inner = Object.entries(json).flatMap(([name, item]) =>
    pathsIn(item as Json, [...path, Array.isArray(json) ? Number(name) : name]),
  );
  return path.length === 0 ? inner : [path, ...inner];
}
