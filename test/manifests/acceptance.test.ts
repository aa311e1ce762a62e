import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { manifestText } from '../../scripts/bench/workload.ts';
import { kinds } from '../../src/kinds/index.ts';
import { acceptanceOf } from '../../src/manifests/acceptance.ts';
import { envelopeSchema } from '../../src/manifests/envelope.ts';
import { parseDocuments } from '../../src/manifests/parse-documents.ts';

const schemas: readonly z.ZodType[] = [
  envelopeSchema,
  ...[...kinds.values()].map(({ spec }) => spec),
  z.strictObject({
    text: z.string(),
    number: z.number(),
    count: z.int().min(1).optional(),
    isOn: z.boolean().nullable(),
    role: z.enum(['a', 'b']).optional(),
    name: z.literal(['x', 3]),
    list: z.array(z.string().max(2)),
    labels: z.record(z.string().min(1), z.string()).optional(),
    open: z.looseObject({ url: z.url() }).optional(),
    stripped: z.object({ a: z.unknown() }).optional(),
  }),
];

const leaf = fc.oneof(
  fc.constantFrom<unknown>(
    '',
    'a',
    'xyz',
    'https://example.com',
    0,
    1,
    1.5,
    -0,
    Number.NaN,
    Infinity,
    true,
    null,
    undefined,
    3,
    'allow',
  ),
  fc.constantFrom<unknown>(
    [],
    {},
    ['a'],
    ['xyz'],
    [1],
    { '': 'a' },
    { a: 'b' },
    { a: 1 },
    new Map(),
    new Date(0),
    Object.create({ a: 1 }),
  ),
);

/** A value with the fields that the schema has, most of the time: right, wrong, missing or one too many. */
function valueFor(schema: z.ZodType): fc.Arbitrary<unknown> {
  const inner = schema instanceof z.ZodOptional || schema instanceof z.ZodNullable ? schema.unwrap() : schema;
  if (!(inner instanceof z.ZodObject)) {
    const examples = ((inner as z.ZodType).meta()?.examples ?? []) as readonly unknown[];
    return fc.oneof(leaf, fc.constantFrom<unknown>(...examples, 'a', 1));
  }
  const fields = Object.entries(inner.shape).map(
    ([key, field]) => [key, valueFor(field as z.ZodType)] as const,
  );
  const more = [
    ['more', leaf],
    ['constructor', leaf],
  ] as const;
  return fc.record(Object.fromEntries([...fields, ...more]), { requiredKeys: [] });
}

describe('what a schema accepts', () => {
  it.each(schemas.map((schema, index) => ({ schema, index })))(
    'is what it parses: schema $index',
    ({ schema }) => {
      const accepts = acceptanceOf(schema);
      fc.assert(
        fc.property(valueFor(schema), (value) => {
          expect(accepts(value)).toBe(schema.safeParse(value).success);
        }),
        { numRuns: 300 },
      );
    },
  );

  it('takes a usual manifest, and the same with one thing wrong not', () => {
    const agent = kinds.get('Agent')?.spec ?? z.never();
    const manifest = parseDocuments(manifestText(7)).documents[0]?.value as { spec: Record<string, unknown> };
    expect(acceptanceOf(envelopeSchema)(manifest)).toBe(true);
    expect(acceptanceOf(agent)(manifest.spec)).toBe(true);
    expect(acceptanceOf(agent)({ ...manifest.spec, nmae: 'x' })).toBe(false);
    expect(acceptanceOf(agent)({ ...manifest.spec, name: 7 })).toBe(false);
  });
});
