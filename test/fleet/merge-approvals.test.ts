import { expect, it } from 'vitest';
import { setUpTables } from '../../src/fleet/database/set-up-tables.ts';
import { MergeApprovals } from '../../src/fleet/pulls/merge-approvals.ts';
import type { PullHost } from '../../src/fleet/pulls/pull-hosts.ts';
import { claimPulls, storePulls } from '../../src/fleet/rows/pull-rows.ts';
import { contentsOf, discover, memberNamed, newDatabases } from './fleet-databases.ts';

it.each([
  ['shortly after the merge, with a clock that is an hour ahead', 0, 3_600_000, 1000],
  ['an hour after the merge, with a clock that is an hour behind', 3_600_000, -3_600_000, 180_000],
])('looks for plans at intervals by the clock of the database: %s', async (_, age, ahead, expected) => {
  const database = await (newDatabases.embedded as NonNullable<typeof newDatabases.embedded>)();
  await setUpTables(database);
  const { address } = memberNamed('acme');
  await discover(database, contentsOf([memberNamed('acme')]));
  const request = {
    number: 1,
    url: 'u',
    title: 't',
    author: 'ann',
    base: 'main',
    branch: 'b',
    head: 'h',
    isFork: false,
  };
  await storePulls(database, 'voices', [{ ...request, state: 'open', mergedAs: undefined }]);
  await storePulls(database, 'voices', [{ ...request, state: 'merged', mergedAs: 'm' }]);
  await database.query(
    `UPDATE voxform_fleet.pulls SET planned_head = head, since = now() - $1 * interval '1 millisecond'`,
    age,
  );
  await database.query(
    `INSERT INTO voxform_fleet.pull_plans (source, number, address, head, result, details) VALUES ('voices', 1, $1, 'h', 'changes', '{}')`,
    address,
  );
  const [pull] = await claimPulls(database, { sources: ['voices'], limit: 1 });
  if (pull === undefined) throw new Error('nothing to decide');
  const rules = [{ pattern: '*', mode: 'approve', interval: 60_000, onDrift: undefined, reviews: 1 } as const];
  const approvals = new MergeApprovals({ database, rules, log: { entry: () => undefined } });
  // Moves the clock of this process relative to that of the database.
  const seen = { ...pull, since: new Date(pull.since.getTime() - ahead) };
  const { retryAfter } = await approvals.decide(seen, { interval: 30_000 } as PullHost);
  expect(Math.round((retryAfter ?? 0) / 1000) * 1000).toBe(expected);
});
