import { expect, it } from 'vitest';
import { freeSlots, groupsOf, type RunInGroups } from '../../src/fleet/slots.ts';

const in_ = (project: string, source = 'voices', baseUrl = 'https://one.example') =>
  groupsOf({ source, project, baseUrl });
const runs = (groups: RunInGroups['groups'], count: number, age = 0): RunInGroups[] =>
  Array.from({ length: count }, () => ({ groups, age }));

const a = in_('a');
const b = in_('b', 'others', 'https://two.example');
const fastGroups = new Set([...Object.values(a), ...Object.values(b)]);
const ALL = ['origin', 'source', 'project'] as const;
const LONG = 60_000;

const cases = [
  { reason: 'a single group may use all slots', running: runs(a, 6), dividedBy: [], max: 2, excludedGroups: [] },
  { reason: 'with several groups, none gets the last slot', running: runs(a, 5), max: 2, excludedGroups: [] },
  { reason: 'the last slot is for the other groups', running: runs(a, 7), max: 1, excludedGroups: Object.values(a) },
  {
    reason: 'no slot is free',
    running: [...runs(a, 7), ...runs(b, 1)],
    max: 0,
    excludedGroups: Object.values(a),
  },
  {
    reason: 'a slow origin gets half, for any path and any source',
    running: [
      ...runs(in_('a', 'voices', 'http://127.0.0.1:4600/one'), 2, LONG),
      ...runs(in_('c', 'others', 'http://127.0.0.1:4600/two'), 2, LONG),
    ],
    dividedBy: ['origin'] as const,
    max: 4,
    excludedGroups: ['origin:http://127.0.0.1:4600'],
  },
  {
    reason: 'a slow source gets half',
    running: [...runs(in_('a'), 2, LONG), ...runs(in_('c', 'voices', 'https://x.example'), 2)],
    dividedBy: ALL,
    max: 2,
    excludedGroups: ['source:voices'],
  },
  {
    reason: 'a slow project gets half',
    running: [...runs(a, 3), ...runs(in_('a', 'voices', 'https://x.example'), 1, LONG)],
    dividedBy: ['origin', 'project'] as const,
    max: 3,
    excludedGroups: ['project:voices%2Fa'],
  },
  {
    reason: 'one slow run makes its group slow',
    running: [...runs(a, 3), ...runs(a, 1, LONG)],
    max: 4,
    excludedGroups: Object.values(a),
  },
  {
    reason: 'a slow group keeps its running jobs',
    running: runs(a, 6, LONG),
    max: 2,
    excludedGroups: Object.values(a),
  },
  {
    reason: 'a group of unknown speed gets half, in one poll or several',
    running: runs(in_('new'), 4),
    dividedBy: ['project'] as const,
    max: 4,
    excludedGroups: ['project:voices%2Fnew'],
  },
  { reason: 'at most half of the slots go to groups of unknown speed', running: [], max: 4, excludedGroups: [] },
];

it.each(cases)('limits the free slots: $reason', ({ running, dividedBy = ALL, max, excludedGroups }) => {
  expect(freeSlots(running, { slots: 8, dividedBy, fastGroups })).toEqual({ max, excludedGroups });
});

it('never gives a group more than its share, in any order of jobs', () => {
  for (let own = 0; own <= 8; own++) {
    for (let others = 0; own + others <= 8; others++) {
      const running = [...runs(a, own), ...runs(b, others)];
      const { max, excludedGroups } = freeSlots(running, { slots: 8, dividedBy: ALL, fastGroups });
      if (!excludedGroups.includes(a.project)) expect([own, others, own + max <= 7]).toEqual([own, others, true]);
      expect([own, others, own + others + max <= 8]).toEqual([own, others, true]);
    }
  }
});
