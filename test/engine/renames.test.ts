import { expect, it } from 'vitest';
import { Bench } from './bench.ts';
import { agent } from './resources.ts';

const hint = { address: 'Agent/new', next: [{ action: 'keep_record', previous_name: 'old' }] };

it.each([
  { reason: 'is created', fails: false, left: [] },
  { reason: 'could not be created', fails: true, left: [hint] },
])('points a rename out until the new record exists: it $reason', async ({ fails, left }) => {
  const w = await Bench.applied([agent('old', { name: 'Desk' })]);
  const renamed = [agent('new', { name: 'Desk' })];
  expect((await w.plan(renamed)).warnings).toMatchObject([hint]);
  if (fails) w.emulator.faults.add({ match: { method: 'POST' }, fault: { status: 422 } });
  expect((await w.apply(renamed)).warnings).toMatchObject(left);
});
