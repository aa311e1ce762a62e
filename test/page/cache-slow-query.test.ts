import { expect, it } from 'vitest';
import { cacheSlowQuery } from '../../src/page/cache-slow-query.ts';

function queryThatTakes(milliseconds: number) {
  const clock = { now: 0, runs: 0 };
  const query = async () => {
    clock.now += milliseconds;
    return ++clock.runs;
  };
  const ask = cacheSlowQuery(query, () => clock.now);
  const askAt = (now: number) => {
    clock.now = Math.max(clock.now, now);
    return ask();
  };
  return { clock, askAt };
}

it('executes a fast query each time', async () => {
  const { askAt } = queryThatTakes(499);
  expect([await askAt(0), await askAt(0), await askAt(5000)]).toEqual([1, 2, 3]);
});

it('returns the last result of a slow query, also during its renewal, and waits for a new one after a pause', async () => {
  const { clock, askAt } = queryThatTakes(1000);
  expect([await askAt(0), await askAt(4999), clock.runs]).toEqual([1, 1, 1]);
  expect([await askAt(5000), clock.runs]).toEqual([1, 2]);
  expect(await askAt(6000)).toBe(2);
  expect(await askAt(41_000)).toBe(3);
});

it('returns the error of a slow query once its last result is too old', async () => {
  let now = 0;
  const ask = cacheSlowQuery(
    async () => {
      now += 1000;
      if (now > 5000) throw new Error('unreachable');
      return now;
    },
    () => now,
  );
  await ask();
  now = 5000;
  expect(await ask()).toBe(1000);
  now = 41_000;
  await expect(ask()).rejects.toThrow('unreachable');
});
