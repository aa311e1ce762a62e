import { expect, it } from 'vitest';
import { ReadCounter, type ReadProgress } from '../../src/engine/observe/read-records.ts';

it('takes no more reads to be in flight than are sent at once', async () => {
  const told: ReadProgress[] = [];
  const client = { atOnce: () => 2 };
  const counter = new ReadCounter((progress) => told.push(progress), client);
  counter.expect(4);
  const reads = Array.from({ length: 4 }, () => Promise.withResolvers<void>());
  const done = reads.map(({ promise }) => counter.single(() => promise));
  for (const [index, read] of reads.entries()) {
    read.resolve();
    await done[index];
  }
  expect(told.map(({ inFlight }) => inFlight)).toEqual([2, 2, 1, 0]);
});
