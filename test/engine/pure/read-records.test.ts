import fc from 'fast-check';
import { expect, it } from 'vitest';
import { internStringsOf, ReadCounter, type ReadProgress } from '../../../src/engine/observe/read-records.ts';
import type { ResourceEntry } from '../../../src/state/state-document.ts';
import type { Json } from '../../../src/values/json.ts';

it('internStringsOf does not change the value of a spec', () => {
  const text = fc.constantFrom('a'.repeat(300), 'b'.repeat(300), `${'a'.repeat(299)}c`, 'short');
  const key = fc.constantFrom('name', 'prompt', 'x', 'constructor', 'length', '0');
  const spec = fc.letrec<{ value: Json }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      text,
      fc.constant(null),
      fc.array(tie('value'), { maxLength: 2 }),
      fc.dictionary(key, tie('value'), { maxKeys: 3 }),
    ),
  })).value;
  const path = fc.array(key, { minLength: 1, maxLength: 3 }).map((keys) => keys.join('.'));
  fc.assert(
    fc.property(spec, fc.dictionary(path, fc.oneof(text, spec), { maxKeys: 5 }), (value, recorded) => {
      const entry: ResourceEntry = { id: '1', recorded, observed: {}, unobserved: [] };
      const before = structuredClone(value);
      internStringsOf(entry, value);
      expect(value).toEqual(before);
    }),
  );
});

it('ReadCounter reports no more reads in flight than are sent concurrently', async () => {
  const reports: ReadProgress[] = [];
  const client = { atOnce: () => 2 };
  const counter = new ReadCounter((progress) => reports.push(progress), client);
  counter.expect(4);
  const reads = Array.from({ length: 4 }, () => Promise.withResolvers<void>());
  const done = reads.map(({ promise }) => counter.single(() => promise));
  for (const [index, read] of reads.entries()) {
    read.resolve();
    await done[index];
  }
  expect(reports.map(({ inFlight }) => inFlight)).toEqual([2, 2, 1, 0]);
});
