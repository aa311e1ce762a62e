import { expect, it } from 'vitest';
import { freeSlots, groupsOf, type RunningInGroups } from '../../src/fleet/slots.ts';

const in_ = (project: string, source = 'voices', baseUrl = 'https://one.example') =>
  groupsOf({ source, project, baseUrl });
const runs = (groups: RunningInGroups['groups'], count: number, age = 0): RunningInGroups[] =>
  Array.from({ length: count }, () => ({ groups, age }));

const a = in_('a');
const b = in_('b', 'others', 'https://two.example');
const quick = new Set([...Object.values(a), ...Object.values(b)]);
const ALL = ['origin', 'source', 'project'] as const;
const LONG = 60_000;

const cases = [
  { reason: 'one of a kind may have all', running: runs(a, 6), several: [], most: 2, without: [] },
  { reason: 'of several, none has the last slot', running: runs(a, 5), most: 2, without: [] },
  { reason: 'the last slot is for the others', running: runs(a, 7), most: 1, without: Object.values(a) },
  {
    reason: 'nothing is free',
    running: [...runs(a, 7), ...runs(b, 1)],
    most: 0,
    without: Object.values(a),
  },
  {
    reason: 'a slow origin has half, under any path and in any source',
    running: [
      ...runs(in_('a', 'voices', 'http://127.0.0.1:4600/one'), 2, LONG),
      ...runs(in_('c', 'others', 'http://127.0.0.1:4600/two'), 2, LONG),
    ],
    several: ['origin'] as const,
    most: 4,
    without: ['origin:http://127.0.0.1:4600'],
  },
  {
    reason: 'a slow source has half',
    running: [...runs(in_('a'), 2, LONG), ...runs(in_('c', 'voices', 'https://x.example'), 2)],
    several: ALL,
    most: 2,
    without: ['source:voices'],
  },
  {
    reason: 'a slow project has half',
    running: [...runs(a, 3), ...runs(in_('a', 'voices', 'https://x.example'), 1, LONG)],
    several: ['origin', 'project'] as const,
    most: 3,
    without: ['project:voices%2Fa'],
  },
  {
    reason: 'one slow run is enough',
    running: [...runs(a, 3), ...runs(a, 1, LONG)],
    most: 4,
    without: Object.values(a),
  },
  {
    reason: 'a slow one keeps what it has',
    running: runs(a, 6, LONG),
    most: 2,
    without: Object.values(a),
  },
  {
    reason: 'what is not known to be quick has half, in one look or several',
    running: runs(in_('new'), 4),
    several: ['project'] as const,
    most: 4,
    without: ['project:voices%2Fnew'],
  },
  { reason: 'and nothing more than half is taken of what is not known', running: [], most: 4, without: [] },
];

it.each(cases)('$reason', ({ running, several = ALL, most, without }) => {
  expect(freeSlots(running, { slots: 8, several, quick })).toEqual({ most, without });
});

it('never gives a group more than its share, however jobs come', () => {
  for (let own = 0; own <= 8; own++) {
    for (let others = 0; own + others <= 8; others++) {
      const running = [...runs(a, own), ...runs(b, others)];
      const { most, without } = freeSlots(running, { slots: 8, several: ALL, quick });
      if (!without.includes(a.project)) expect([own, others, own + most <= 7]).toEqual([own, others, true]);
      expect([own, others, own + others + most <= 8]).toEqual([own, others, true]);
    }
  }
});
