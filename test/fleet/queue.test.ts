import { randomInt } from 'node:crypto';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { fleetAddress, nameProblem } from '../../src/fleet/addresses.ts';
import { fleetControl } from '../../src/fleet/control.ts';
import type { FleetDatabase } from '../../src/fleet/database/fleet-database.ts';
import { setUpTables } from '../../src/fleet/database/set-up-tables.ts';
import { createFleetMetrics } from '../../src/fleet/fleet-metrics.ts';
import { Queue } from '../../src/fleet/queue.ts';
import { claimWorkspace, releaseWorkspaces } from '../../src/fleet/rows/claim-rows.ts';
import { storeFinishedRuns } from '../../src/fleet/rows/finished-runs.ts';
import { claimSources, registerSources, renewClaims, storeContents } from '../../src/fleet/rows/member-rows.ts';
import { rowsToRun } from '../../src/fleet/rows/run-rows.ts';
import { fleetFigures } from '../../src/fleet/rows/status-rows.ts';
import { scheduleDue } from '../../src/fleet/serve.ts';
import { groupsOf } from '../../src/fleet/slots.ts';
import { messageOf } from '../../src/operator/messages.ts';
import { UserError } from '../../src/problems/user-error.ts';
import { step } from '../step.ts';
import {
  contentsOf,
  discover,
  finishedRuns,
  memberNamed,
  newDatabases,
  oneSource,
  openQueue,
} from './fleet-databases.ts';

const allDue = (database: FleetDatabase) => database.query('UPDATE voxform_fleet.workspaces SET due_at = now()');
const jobsIn = (database: FleetDatabase) => database.query('SELECT state FROM voxform_queue.job');
const takenFrom = async (queue: Queue, most: number, without: string[] = []) =>
  (await queue.take(most, without)).map(({ address }) => address);

for (const [kind, newDatabase] of Object.entries(newDatabases))
  describe(`queue of a fleet in a database of the kind ${kind}`, {
    tags: kind === 'PostgreSQL' ? [] : ['long'],
  }, () => {
    it('gives each due workspace to one process, and keeps no job of a finished run', async () => {
      const database = await newDatabase();
      const queue = await openQueue(database);
      const names = ['a', 'b', 'c', 'd'];
      await discover(database, contentsOf(names.map((name) => memberNamed(name))));
      expect(await scheduleDue(database, queue, ['voices'])).toBe(4);
      expect(await scheduleDue(database, queue, ['voices'])).toBe(0);
      const [some, others] = await Promise.all([queue.take(2, []), queue.take(10, [])]);
      const jobs = [...some, ...others];
      expect(jobs.map(({ address }) => address).sort()).toEqual(names.map((name) => memberNamed(name).address));
      await step('a running workspace gets no second job', async () => {
        await allDue(database);
        expect(await scheduleDue(database, queue, ['voices'])).toBe(4);
        expect(await takenFrom(queue, 10)).toEqual([]);
      });
      await storeFinishedRuns(database, queue, await finishedRuns(database, jobs));
      expect(await jobsIn(database)).toEqual([]);
      const rows = await database.query(
        'SELECT DISTINCT status, due_at > now() AS later FROM voxform_fleet.workspaces',
      );
      expect(rows).toEqual([{ status: 'in-sync', later: true }]);
    });

    it('runs a workspace with names of the maximum length', async () => {
      // Random characters, because an index entry is compressed.
      const random = (length: number, first: string, count: number) =>
        Array.from({ length }, () => String.fromCharCode(first.charCodeAt(0) + randomInt(count))).join('');
      const project = random(166, '\u4e00', 20_000);
      const address = fleetAddress('v'.repeat(63), project, random(63, 'a', 26));
      const [workspaceId, baseUrl] = [random(255, 'a', 26), `https://${random(492, 'a', 26)}`];
      expect(nameProblem(project)).toBeUndefined();
      const database = await newDatabase();
      const queue = await openQueue(database);
      await discover(database, contentsOf([memberNamed(project, { address, workspaceId, baseUrl })]));
      await scheduleDue(database, queue, ['voices']);
      const jobs = await queue.take(1, []);
      const [holder = ''] = jobs.map(({ id }) => id);
      await claimWorkspace(database, { address, holder, workspaceId, baseUrl }, { expiry: 1000, corrects: true });
      const texts = [{ resource: `WorkspaceUser/${random(63, 'a', 26)}`, text: random(255, '\u4e00', 20_000) }];
      const runs = await finishedRuns(database, jobs, { search: { digest: '1', texts } });
      await storeFinishedRuns(database, queue, runs);
      expect(await database.query('SELECT status FROM voxform_fleet.workspaces')).toEqual([{ status: 'in-sync' }]);
    });

    it('counts the age of a workspace that was never checked from its discovery', async () => {
      const database = await newDatabase();
      await setUpTables(database);
      await discover(database, contentsOf([memberNamed('a'), memberNamed('b')]));
      await database.query(
        `UPDATE voxform_fleet.workspaces SET checked_at = now(), status_since = now() - CASE project WHEN 'b' THEN 2 ELSE 3 END * interval '1 hour'`,
      );
      await database.query(`UPDATE voxform_fleet.workspaces SET checked_at = NULL WHERE project = 'b'`);
      const text = await createFleetMetrics('1', () => fleetFigures(database)).text();
      expect(text).toMatch(/^voxform_fleet_oldest_check_seconds 72\d\d/m);
    });

    it('counts a due workspace as late until its run starts, even while it is queued', async () => {
      const database = await newDatabase();
      await setUpTables(database);
      await discover(database, contentsOf([memberNamed('a'), memberNamed('b')]));
      await database.query(
        `UPDATE voxform_fleet.workspaces SET due_at = now() - CASE project WHEN 'b' THEN 2 ELSE 1 END * interval '1 hour'`,
      );
      const minutes = async () => Math.round((await fleetFigures(database)).lateness / 60);
      expect(await minutes()).toBe(120);
      const queue = await openQueue(database);
      await scheduleDue(database, queue, ['voices']);
      expect(await minutes()).toBe(120);
      await queue.take(1, []);
      expect(await minutes()).toBe(60);
      await step('a paused workspace is not late', async () => {
        await database.query(`UPDATE voxform_fleet.workspaces SET paused_at = now()`);
        expect(await minutes()).toBe(0);
        await database.query(`UPDATE voxform_fleet.workspaces SET paused_at = NULL`);
      });
      await queue.take(1, []);
      expect(await minutes()).toBe(0);
    });

    it('starts a workspace with several addresses under one, then under none until they differ', async () => {
      const database = await newDatabase();
      await setUpTables(database);
      const names = ['a', 'b', 'c'];
      // The address is found by a process whose environment lacks the variable.
      const members = names.map((name) => memberNamed(name, { baseUrl: undefined }));
      await discover(database, contentsOf(members));
      const claim = (name: string, workspaceId = 'one') => {
        const baseUrl = 'https://one.example.com';
        const claimed = { address: memberNamed(name).address, holder: `job-${name}`, workspaceId, baseUrl };
        return claimWorkspace(database, claimed, { expiry: 60_000, corrects: true }).then(
          () => 'begun',
          (error: unknown) => messageOf(error),
        );
      };
      const begun = async () => (await Promise.all(names.map((name) => claim(name)))).filter((is) => is === 'begun');
      expect(await begun()).toHaveLength(1);
      expect(await database.query('SELECT holders FROM voxform_fleet.claims')).toHaveLength(1);
      await releaseWorkspaces(
        database,
        names.map((name) => `job-${name}`),
      );
      await step('none starts after the first run has ended', async () => {
        expect(await claim('a')).toContain('voices/b:production and voices/c:production are the same');
        const rows = await rowsToRun(database, [
          { id: 'x', retryCount: 0, address: memberNamed('a').address, due: new Date().toISOString() },
        ]);
        expect([...rows.values()].map(({ conflict }) => messageOf(conflict))).toEqual([await claim('a')]);
      });
      await step('the reason comes from a process that knows both sources of the project', async () => {
        const refused = 'voices/b and voices/a are the same project; neither runs';
        await discover(database, contentsOf(members.map((each, index) => (index === 1 ? { ...each, refused } : each))));
        await database.query(
          `UPDATE voxform_fleet.workspaces SET workspace_id = 'one', base_url = 'https://one.example.com'`,
        );
        expect(await claim('a')).toContain(refused);
      });
      await step('each may start once it refers to a different workspace, repeatedly', async () => {
        await database.query('DELETE FROM voxform_fleet.claims');
        for (const name of [...names, ...names])
          expect([name, await claim(name, `id-${name}`)]).toEqual([name, 'begun']);
      });
    });

    it('keeps a workspace claimed for an address until its last holder has finished', async () => {
      const database = await newDatabase();
      await setUpTables(database);
      const claim = (address: string, holder: string) =>
        claimWorkspace(
          database,
          { address, holder, workspaceId: 'one', baseUrl: 'https://one.example.com' },
          { expiry: 60_000, corrects: false },
        ).then(
          () => 'begun',
          (error: unknown) => messageOf(error),
        );
      for (const holder of ['run', 'command', 'command']) expect(await claim('a', holder)).toBe('begun');
      for (const done of ['run', 'command']) {
        expect(await claim('b', 'other')).toContain('in use under a');
        await releaseWorkspaces(database, [done]);
      }
      expect(await claim('b', 'other')).toBe('begun');
      await step('the claim also ends when it is no longer renewed', async () => {
        await database.query(`UPDATE voxform_fleet.claims SET until = now() - interval '1 second'`);
        expect(await claim('a', 'run')).toBe('begun');
        await releaseWorkspaces(database, ['run']);
        expect(await claim('b', 'other')).toBe('begun');
      });
    });

    it('runs changed workspaces first, then the longest due, and can exclude groups', async () => {
      const database = await newDatabase();
      const queue = await openQueue(database);
      const slow = { baseUrl: 'https://slow.example.com/eu' };
      const names = ['a', 'b', 'c'].map((name) => memberNamed(name));
      await discover(database, contentsOf([...names, memberNamed('s', slow)]));
      await database.query(
        `UPDATE voxform_fleet.workspaces SET due_at = now() - CASE project WHEN 'b' THEN 3 WHEN 's' THEN 2 ELSE 1 END * interval '1 minute'`,
      );
      await scheduleDue(database, queue, ['voices']);
      await step('a queued job becomes urgent when its workspace changes', async () => {
        await discover(
          database,
          contentsOf([...names.slice(0, 2), memberNamed('c', { version: '2' }), memberNamed('s', slow)]),
        );
        await scheduleDue(database, queue, ['voices']);
      });
      const groups = groupsOf(memberNamed('s', slow));
      expect(await takenFrom(queue, 9, [groups.source])).toEqual([]);
      for (const [next, group] of [
        ['c', groups.origin],
        ['b', groups.project],
      ] as const) {
        expect(await takenFrom(queue, 1, [group])).toEqual([memberNamed(next).address]);
      }
      expect(await takenFrom(queue, 1)).toEqual([memberNamed('s').address]);
    });

    it('gives the job of a process without heartbeats to another one, and blocks its writes', async () => {
      const database = await newDatabase();
      const queue = await openQueue(database);
      await discover(database, contentsOf([memberNamed('a')]));
      await scheduleDue(database, queue, ['voices']);
      const [job] = await queue.take(1, []);
      if (job === undefined) throw new Error('no job');
      expect(await queue.beat([job])).toEqual(new Set([job.id]));
      await database.query(`UPDATE voxform_queue.job SET heartbeat_on = heartbeat_on - interval '31 seconds'`);
      await queue.recoverJobs();
      expect(await queue.beat([job])).toEqual(new Set());
      const again = await queue.take(1, []);
      expect(again.map(({ address }) => address)).toEqual([job.address]);
      await storeFinishedRuns(database, queue, await finishedRuns(database, [job], { status: 'failed' }));
      const status = 'SELECT status FROM voxform_fleet.workspaces';
      expect(await database.query(status)).toEqual([{ status: 'never-run' }]);
      await storeFinishedRuns(database, queue, await finishedRuns(database, again));
      expect(await database.query(status)).toEqual([{ status: 'in-sync' }]);
      expect(await jobsIn(database)).toEqual([]);
    });

    it('keeps the rejection of a plan that a current run produces again', async () => {
      const database = await newDatabase();
      const queue = await openQueue(database);
      await discover(database, contentsOf([memberNamed('a')]));
      const control = fleetControl(database);
      const { address } = memberNamed('a');
      const plan = { is: 'waiting', id: 'a1b2c3d4e5f6', digest: 'a1b2c3d4e5f6a1b2', document: {} } as const;
      const begin = async () => {
        await scheduleDue(database, queue, ['voices']);
        return finishedRuns(database, await queue.take(1, []), { status: 'waiting', plan });
      };
      await storeFinishedRuns(database, queue, await begin());
      await database.query('UPDATE voxform_fleet.workspaces SET due_at = now()');
      const underWay = await begin();
      await control.reject(address, plan.id, { by: 'ann' });
      await storeFinishedRuns(database, queue, underWay);
      const [shown] = (await control.status({ address })).workspaces;
      expect(shown).toMatchObject({ status: 'pending', plan: null, rejected: { id: plan.id, by: 'ann' } });
      expect(await control.approve(address, plan.id.slice(0, 6), 'bob')).toBe(plan.id);
    });

    it('keeps requests made during a run, and backs off for as long as a run demands', async () => {
      const database = await newDatabase();
      const queue = await openQueue(database);
      await discover(database, contentsOf([memberNamed('a'), memberNamed('b', { interval: 1000 })]));
      await scheduleDue(database, queue, ['voices']);
      const runs = await finishedRuns(database, await queue.take(2, []), {
        status: 'failed',
        failures: 3,
        nextRun: { milliseconds: 90_000, backsOff: true },
      });
      await discover(database, contentsOf([memberNamed('a', { version: '2' }), memberNamed('b', { interval: 1000 })]));
      await storeFinishedRuns(database, queue, runs);
      const rows = await database.query(
        `SELECT project, failures, asked_why, round(extract(epoch FROM due_at - now()) / 90)::integer AS pauses FROM voxform_fleet.workspaces ORDER BY 1`,
      );
      expect(rows).toEqual([
        { project: 'a', failures: 3, asked_why: 'changed', pauses: 0 },
        { project: 'b', failures: 3, asked_why: null, pauses: 1 },
      ]);
    });
  });

it('stores the results of a run while its workspace is queued again, without a deadlock', async () => {
  const database = await newDatabases.PostgreSQL?.();
  if (database === undefined) throw new Error('no database');
  const queue = await openQueue(database);
  await discover(database, contentsOf([memberNamed('a')]));
  await scheduleDue(database, queue, ['voices']);
  const runs = await finishedRuns(database, await queue.take(1, []));
  const { address } = memberNamed('a');
  let finishing: Promise<void> | undefined;
  await database.atomically(async (statements) => {
    await statements.query('SELECT FROM voxform_fleet.workspaces FOR UPDATE');
    finishing = storeFinishedRuns(database, queue, runs);
    await expect
      .poll(async () => (await database.query('SELECT FROM pg_locks WHERE NOT granted')).length)
      .toBeGreaterThan(0);
    const again = {
      address,
      due: new Date().toISOString(),
      groups: groupsOf(memberNamed('a')),
      isUrgent: false,
    };
    await queue.add([again], statements);
  });
  await finishing;
  expect(await jobsIn(database)).toEqual([]);
});

it('lets runs of other workspaces write while a project changes', async () => {
  const database = await newDatabases.PostgreSQL?.();
  if (database === undefined) throw new Error('no database');
  await setUpTables(database);
  await discover(database, contentsOf([memberNamed('a'), memberNamed('b')]));
  await database.query('UPDATE voxform_fleet.workspaces SET checked_at = now()');
  await database.atomically(async (statements) => {
    await statements.query(
      'SELECT FROM voxform_fleet.workspaces WHERE address = $1 FOR UPDATE',
      memberNamed('b').address,
    );
    await discover(database, contentsOf([memberNamed('a', { version: 'new' }), memberNamed('b')]));
  });
  const rows = await database.query('SELECT project, asked_why FROM voxform_fleet.workspaces ORDER BY project');
  expect(rows).toEqual([
    { project: 'a', asked_why: 'changed' },
    { project: 'b', asked_why: null },
  ]);
});

it('keeps a removed workspace as long as it has records, but does not run it', async () => {
  const database = await newDatabases.PostgreSQL?.();
  if (database === undefined) throw new Error('no database');
  const queue = await openQueue(database);
  await discover(database, contentsOf([memberNamed('a')]));
  await scheduleDue(database, queue, ['voices']);
  await storeFinishedRuns(database, queue, await finishedRuns(database, await queue.take(1, [])));
  await discover(database, contentsOf([memberNamed('a'), memberNamed('never-run')]));
  await discover(database, contentsOf([]));
  const rows = await database.query('SELECT address, vanished_at IS NOT NULL AS gone FROM voxform_fleet.workspaces');
  expect(rows).toEqual([{ address: memberNamed('a').address, gone: true }]);
  await allDue(database);
  expect(await scheduleDue(database, queue, ['voices'])).toBe(0);
  await step('a broken project keeps its workspaces', async () => {
    await discover(database, contentsOf([memberNamed('a')]));
    const broken = { project: 'a', version: '9', commit: 'c9', problem: 'no voxform.yaml', members: [] };
    await discover(database, contentsOf([], [broken]));
    const [row] = await database.query('SELECT version, problem, vanished_at, asked_why FROM voxform_fleet.workspaces');
    expect(row).toEqual({
      version: '9',
      problem: 'no voxform.yaml',
      vanished_at: null,
      asked_why: 'changed',
    });
  });
  await step('the workspaces of a folder that is too large to search are kept', async () => {
    await discover(database, contentsOf([memberNamed('a/b')]));
    const unknown = {
      project: 'a',
      version: '9',
      commit: 'c9',
      problem: 'too large',
      isUnknown: true,
      members: [],
    };
    await discover(database, contentsOf([], [unknown]));
    const kept = 'SELECT project FROM voxform_fleet.workspaces WHERE vanished_at IS NULL';
    expect(await database.query(kept)).toEqual([{ project: 'a/b' }]);
  });
});

it('lets another process fetch after missed heartbeats of the first, and only the last one write', async () => {
  const database = await newDatabases.PostgreSQL?.();
  if (database === undefined) throw new Error('no database');
  await setUpTables(database);
  const [first] = await registerSources(database, oneSource);
  const claim = () => claimSources(database, oneSource);
  const pass = (seconds: number) =>
    database.query(`UPDATE voxform_fleet.sources SET next_fetch = next_fetch - interval '${seconds} s'`);
  if (first === undefined) throw new Error('nothing to fetch');
  await pass(29);
  await renewClaims(database, [first]);
  await pass(29);
  expect(await claim()).toEqual([]);
  await pass(2);
  const [second] = await claim();
  if (second === undefined) throw new Error('nothing to fetch');
  await renewClaims(database, [first]);
  const found = { contents: contentsOf([memberNamed('acme')]), interval: 1000 };
  expect(await storeContents(database, { claimed: first, ...found })).toBe('taken-over');
  expect(await storeContents(database, { claimed: second, ...found })).toBe('new');
  await renewClaims(database, [second]);
  await pass(1);
  expect(await claim()).toHaveLength(1);
});

it('reports errors of its maintenance queries as readable messages', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const database = await newDatabases.PostgreSQL?.();
  if (database === undefined) throw new Error('no database');
  await setUpTables(database);
  let isAway = false;
  const messages: string[] = [];
  const query: FleetDatabase['query'] = (...args) =>
    isAway ? Promise.reject(new UserError('it is away', { hint: 'Start it.' })) : database.query(...args);
  const timing = { heartbeat: 30, monitor: 600, expiry: 700 };
  const queue = await Queue.open({ ...database, query }, timing, (error) => messages.push(messageOf(error)));
  onTestFinished(() => queue.close());
  isAway = true;
  await vi.advanceTimersByTimeAsync(60_000);
  await vi.waitFor(() => expect(messages).not.toEqual([]));
  expect([...new Set(messages)]).toEqual(['it is away (Start it.)']);
  isAway = false;
});
