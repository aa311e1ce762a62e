import { expect, it } from 'vitest';
import { freeSlots, type RunningByUrl } from '../../src/fleet/slots.ts';

const runs = (baseUrl: string, count: number, age = 0): RunningByUrl[] =>
  Array.from({ length: count }, () => ({ baseUrl, age }));

const cases = [
  { reason: 'one platform may have all', running: runs('a', 6), isMixed: false, most: 2, without: [] },
  {
    reason: 'of several, none has the last slot',
    running: runs('a', 5),
    isMixed: true,
    most: 2,
    without: [],
  },
  {
    reason: 'the last slot is for the others',
    running: runs('a', 7),
    isMixed: true,
    most: 1,
    without: ['a'],
  },
  {
    reason: 'nothing is free',
    running: [...runs('a', 7), ...runs('b', 1)],
    isMixed: true,
    most: 0,
    without: ['a'],
  },
  { reason: 'a slow one has half', running: runs('a', 4, 60_000), isMixed: true, most: 4, without: ['a'] },
  {
    reason: 'a slow one keeps what it has',
    running: runs('a', 6, 60_000),
    isMixed: true,
    most: 2,
    without: ['a'],
  },
];

it.each(cases)('$reason', ({ running, isMixed, most, without }) => {
  expect(freeSlots(running, { slots: 8, isMixed })).toEqual({ most, without });
});

it('never gives one platform more than its share, however jobs come', () => {
  for (let own = 0; own <= 8; own++) {
    for (let others = 0; own + others <= 8; others++) {
      const { most, without } = freeSlots([...runs('a', own), ...runs('b', others)], {
        slots: 8,
        isMixed: true,
      });
      if (!without.includes('a')) expect([own, others, own + most <= 7]).toEqual([own, others, true]);
      expect([own, others, own + others + most <= 8]).toEqual([own, others, true]);
    }
  }
});
