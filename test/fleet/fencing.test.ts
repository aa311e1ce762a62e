/** @module-tag long */

import { rename } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { Interrupts } from '../../src/cli/interrupts.ts';
import { agentManifest, projectFile } from '../cli/workspace.ts';
import { FakeClock } from '../operator/fake-clock.ts';
import { step } from '../step.ts';
import { command } from '../trust/in-process.ts';
import { openQueue } from './fleet-databases.ts';
import { KEY } from './server-options.ts';
import { type TestFleet, testFleet } from './test-fleet.ts';

const APPLY = 'workspaces: { "*": { mode: apply, interval: 1h } }';
const ADDRESS = 'voices/acme:test';
/** The timers of a serving process: polling, freeze, heartbeat, checkouts, old runs. */
const TIMERS = 5;

/** Advances time for the database. After a minute, the last heartbeat of a process is too old. */
async function silence({ pg }: TestFleet, seconds = 60): Promise<void> {
  const before = `- interval '${seconds} seconds'`;
  await pg.sql(`UPDATE voxform_queue.job SET heartbeat_on = heartbeat_on ${before};
    UPDATE voxform_queue.queue SET monitor_claim_on = monitor_claim_on ${before};
    UPDATE voxform_fleet.states SET heard = heard ${before};
    UPDATE voxform_fleet.workspaces SET due_at = due_at ${before}`);
}

const stateIn = ({ pg }: TestFleet) =>
  pg.sql('SELECT epoch, revision, write, state, lock::text FROM voxform_fleet.states');
const postsIn = ({ emulators }: TestFleet) =>
  emulators.get('acme')?.requests.filter(({ method }) => method === 'POST') ?? [];

async function stuckInApply(): Promise<TestFleet> {
  const fleet = await testFleet({ projects: ['acme'], rules: APPLY, agents: ['b'] });
  // Two requests are sent, and receive no response before the test ends.
  fleet.emulators.get('acme')?.faults.add({ match: { method: 'POST' }, times: 2, fault: { delayMs: 4_000 } });
  return fleet;
}

it('takes over the run of a process that was killed during an apply, and creates no duplicate', async () => {
  const fleet = await stuckInApply();
  const child = await fleet.child();
  await fleet.until(() => postsIn(fleet).length === 2);
  child.kill('SIGKILL');
  await child.ended;
  await silence(fleet);
  await fleet.server();
  await fleet.until(async () => (await fleet.control.status({})).counts.pending === 1);
  expect(fleet.reports.map(({ address, report }) => [address, report?.result])).toEqual([[ADDRESS, 'ok']]);
  const unknown = fleet.reports[0]?.report?.plan?.resources.map(({ action }) => action);
  expect([unknown, postsIn(fleet).length]).toEqual([['unknown', 'unknown'], 2]);
});

it('takes over within a minute the writes of a killed process', async () => {
  const fleet = await stuckInApply();
  const child = await fleet.child();
  await fleet.until(() => postsIn(fleet).length === 2);
  child.kill('SIGKILL');
  await child.ended;
  const clock = new FakeClock();
  const [tick, beat] = [1000, 8000];
  const queue = await openQueue(fleet.database, { monitor: beat / 1000 });
  await fleet.server({ clock, timing: { tick, beat, heartbeatTimeout: 30_000, startTimeout: 0 } });
  // The timers of a process that only waits for its next poll.
  const idle = () =>
    fleet.until(async () => {
      await clock.pass(1);
      return clock.waiting === TIMERS;
    });
  await idle();
  await fleet.pg.sql(`UPDATE voxform_queue.job SET heartbeat_on = now();
    UPDATE voxform_fleet.states SET heard = now()`);
  let seconds = 0;
  let shifted = performance.now();
  for (; !fleet.reports.some(({ report }) => report?.result === 'ok'); seconds++) {
    expect(seconds).toBeLessThan(60);
    // The clock of the database continues meanwhile.
    const now = performance.now();
    await silence(fleet, 1 - (now - shifted) / 1000);
    shifted = now;
    await queue.recoverJobs();
    await clock.pass(tick);
    await idle();
  }
  expect(fleet.reports[0]?.report?.result).toBe('busy');
  expect(postsIn(fleet)).toHaveLength(2);
});

it('prevents writes of a process that was suspended during an apply once another process has taken over', async () => {
  const fleet = await stuckInApply();
  const child = await fleet.child();
  await fleet.until(() => postsIn(fleet).length === 2);
  child.kill('SIGSTOP');
  await fleet.folder.write('acme/manifests/c.yaml', agentManifest('c', 'One.'));
  await silence(fleet);
  await fleet.server();
  await fleet.until(
    async () =>
      fleet.reports.some(({ report }) => report?.applied.length === 1) && (await fleet.status(ADDRESS)) === 'pending',
  );
  const after = await stateIn(fleet);
  child.kill('SIGCONT');
  // The changed file may start one more run first.
  await fleet.until(() => child.events.some(({ result }) => result === 'failed'));
  await step('the suspended process still ends normally', async () => {
    child.kill('SIGTERM');
    await child.ended;
  });
  expect(await stateIn(fleet)).toEqual(after);
  expect(await fleet.pg.sql(`SELECT * FROM voxform_fleet.runs WHERE process = '${child.id}'`)).toEqual([]);
  expect([await fleet.status(ADDRESS), postsIn(fleet).length]).toEqual(['pending', 3]);
});

it('returns the pending jobs of a process immediately when it is stopped', async () => {
  const fleet = await testFleet({ projects: ['acme'], rules: APPLY });
  fleet.emulators.get('acme')?.faults.add({ match: { method: 'GET' }, times: 1, fault: { delayMs: 50_000 } });
  const child = await fleet.child();
  await fleet.until(() => (fleet.emulators.get('acme')?.requests.length ?? 0) > 0);
  child.kill('SIGTERM');
  await child.ended;
  expect(child.events.at(-1)).toEqual({ event: 'stopped' });
  expect(await fleet.pg.sql('SELECT * FROM voxform_queue.job')).toEqual([]);
  expect((await fleet.control.status({})).processes).toEqual([]);
  await fleet.server();
  await fleet.until(async () => (await fleet.status(ADDRESS)) === 'in-sync');
  expect(postsIn(fleet).length).toBe(1);
});

it('ends a run whose job the process received again after missed heartbeats', async () => {
  const fleet = await testFleet({ projects: ['acme'], rules: APPLY });
  fleet.emulators.get('acme')?.faults.add({ match: { method: 'GET' }, times: 1, fault: { delayMs: 600_000 } });
  const queue = await openQueue(fleet.database);
  // Only the queue tells the process that its job was returned.
  await fleet.server({ grace: 100, timing: { tick: 100, beat: 600_000, heartbeatTimeout: 30_000 } });
  await fleet.until(() => (fleet.emulators.get('acme')?.requests.length ?? 0) > 0);
  await silence(fleet);
  await queue.recoverJobs();
  await fleet.until(() => fleet.reports.length === 2);
  expect(fleet.reports.map(({ report }) => report?.result).sort()).toEqual(['interrupted', 'ok']);
  await fleet.until(async () => (await fleet.status(ADDRESS)) === 'in-sync');
  expect(postsIn(fleet).length).toBe(1);
});

it('lets another process fetch immediately if the fetching one is stopped', async () => {
  const fleet = await testFleet({ projects: ['acme'], rules: APPLY });
  const child = await fleet.child();
  const wait = async () => {
    const [row] = await fleet.database.query(
      'SELECT extract(epoch FROM next_fetch - now())::float8 AS wait FROM voxform_fleet.sources',
    );
    return Number(row?.wait);
  };
  // The process waits until newly written files have settled.
  await fleet.write('acme', 'Two.');
  await fleet.until(async () => (await wait()) > 20);
  child.kill('SIGTERM');
  await child.ended;
  expect(await wait()).toBeLessThan(5);
});

it('runs no workspace under a second address while another process runs it under the first', async () => {
  const fleet = await fleetForExec();
  const emulator = fleet.emulators.get('acme');
  emulator?.faults.add({ match: { method: 'GET' }, times: 1, fault: { delayMs: 600_000 } });
  const child = await fleet.child();
  await fleet.until(() => (emulator?.requests.length ?? 0) > 0);
  // The process sends no more heartbeats.
  await fleet.pg.sql(`UPDATE voxform_fleet.claims SET until = now() + interval '1 hour'`);
  await rename(path.join(fleet.folder.root, 'acme'), path.join(fleet.folder.root, 'renamed'));
  await fleet.server();
  const renamed = 'voices/renamed:test';
  await fleet.until(async () => (await fleet.status(renamed)) === 'failed');
  const [row] = (await fleet.control.status({ address: renamed })).workspaces;
  expect(row?.last).toMatchObject({ error: expect.stringContaining(`${ADDRESS} are the same workspace`) });
  expect(postsIn(fleet)).toEqual([]);
  await step('commands may read the second address, but not write to it', async () => {
    for (const words of [['apply', '--auto-approve'], ['import', 'Agent/a', 'ID'], ['state', 'init'], ['orphans']]) {
      const { code, stderr } = await exec(fleet, renamed, words);
      expect([code, stderr]).toEqual([1, expect.stringContaining(`in use under ${ADDRESS}`)]);
    }
    for (const words of [['plan'], ['state', 'list']])
      expect(await exec(fleet, renamed, words)).toMatchObject({ code: 0 });
    expect(postsIn(fleet)).toEqual([]);
  });
  await step('the second address runs once that process is gone', async () => {
    child.kill('SIGKILL');
    await child.ended;
    await fleet.pg.sql(`UPDATE voxform_fleet.claims SET until = now() - interval '1 second'`);
    await fleet.control.run([renamed], 'ann');
    await fleet.until(async () => (await fleet.status(renamed)) === 'in-sync');
    expect(postsIn(fleet)).toHaveLength(1);
    expect(await fleet.pg.sql('SELECT * FROM voxform_fleet.claims')).toEqual([]);
  });
});

it('runs no workspace under a second address while fleet exec writes to it under the first', async () => {
  const fleet = await fleetForExec();
  const first = await fleet.server();
  await fleet.until(async () => (await fleet.status(ADDRESS)) === 'in-sync');
  await first.stop('over');
  const emulator = fleet.emulators.get('acme');
  emulator?.faults.add({ match: { method: 'GET' }, times: 1, fault: { delayMs: 600_000 } });
  const before = emulator?.requests.length ?? 0;
  const interrupts = new Interrupts(() => undefined);
  const executing = exec(fleet, ADDRESS, ['apply', '--auto-approve'], interrupts);
  await fleet.until(() => (emulator?.requests.length ?? 0) > before);
  const claims = () =>
    fleet.pg.sql(`SELECT address, until < now() + interval '31 seconds' AS ends FROM voxform_fleet.claims`);
  expect(await claims()).toEqual([{ address: ADDRESS, ends: true }]);
  await rename(path.join(fleet.folder.root, 'acme'), path.join(fleet.folder.root, 'renamed'));
  await fleet.server();
  const renamed = 'voices/renamed:test';
  await fleet.until(async () => (await fleet.status(renamed)) === 'failed');
  const [row] = (await fleet.control.status({ address: renamed })).workspaces;
  expect(row?.last).toMatchObject({ error: expect.stringContaining(`in use under ${ADDRESS}`) });
  await step('the claim ends with the command', async () => {
    interrupts.raise('SIGTERM');
    expect((await executing).code).toBe(143);
    expect(await claims()).toEqual([]);
    expect(postsIn(fleet)).toHaveLength(1);
  });
});

/** Creates a fleet whose API key commands cannot find in VOXFORM_API_KEY, which overrides those of all projects. */
async function fleetForExec(): Promise<TestFleet> {
  const fleet = await testFleet({ projects: ['acme'], rules: APPLY });
  for (const emulator of fleet.emulators.values()) {
    await fleet.folder.write('acme/voxform.yaml', projectFile(emulator).replace('VOXFORM_API_KEY', 'KEY_OF_ACME'));
  }
  return fleet;
}

function exec(fleet: TestFleet, address: string, words: readonly string[], interrupts?: Interrupts) {
  return command(['fleet', 'exec', address, '--', ...words], {
    cwd: fleet.folder.root,
    env: { FLEET_DATABASE_URL: fleet.pg.url, KEY_OF_ACME: KEY },
    ...(interrupts && { interrupts }),
  });
}
