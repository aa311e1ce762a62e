import { expect, it } from 'vitest';
import { spared } from '../../src/page/spared.ts';

it.each([
  { takes: 999, queries: 3, reason: 'a quick query runs each time' },
  { takes: 1000, queries: 2, reason: 'a slow one takes a fifth of the time' },
])('runs a query that takes $takes ms $queries times: $reason', async ({ takes, queries }) => {
  let [now, runs] = [0, 0];
  const query = async () => {
    now += takes;
    return ++runs;
  };
  const ask = spared(query, () => now);
  const first = await ask();
  now = 4999;
  const second = await ask();
  now = Math.max(now, 5000);
  expect([first, second === first, await ask()]).toEqual([1, queries === 2, queries]);
});
