import { expect, it } from 'vitest';
import { rowOf } from '../../src/page/fleet-rows.ts';

const since = '2030-01-01T00:00:00Z';
const workspace = {
  address: 'voices/acme:test',
  status: 'pending',
  since,
  checkedAt: since,
  mode: 'approve',
  problem: null,
  paused: null,
  plan: null,
  rejected: null,
};
const rejected = { id: '0123456789ab', at: since, by: 'ann', because: null };
const counts = { create: 2 };

it.each([
  ['rejected', { rejected, last: { counts, hold: 'approval' } }, '2 to create; the plan was rejected by ann'],
  ['only reported', { last: { counts, hold: 'report' } }, '2 to create; the mode is report'],
  ['refused', { last: { counts, hold: 'policy', result: 'refused' } }, 'refused by a policy, 2 to create'],
  ['left for later', { last: { counts, hold: 'changing' } }, '2 to create'],
])('says why changes are pending: %s', (_, more, summary) => {
  expect(rowOf({ ...workspace, ...more } as never).summary).toBe(summary);
});
