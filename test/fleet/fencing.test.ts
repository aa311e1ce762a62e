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
/** Looks, freezes, signs of life, checkouts, old runs. */
const TIMERS = 5;

/** Lets time pass for the database: after a minute, what a process said last is too old to believe that it lives. */
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
  // Two are sent, and no answer comes before the test is over.
  fleet.emulators.get('acme')?.faults.add({ match: { method: 'POST' }, times: 2, fault: { delayMs: 4_000 } });
  return fleet;
}

it('takes up the run of a process that was killed in mid-apply, and creates nothing twice', async () => {
  const fleet = await stuckInApply();
  const child = await fleet.child();
  await fleet.until(() => postsIn(fleet).length === 2);
  child.kill('SIGKILL');
  await child.ended;
  await silence(fleet);
  await fleet.server();
  await fleet.until(async () => (await fleet.control.status({})).counts.pending === 1);
  expect(fleet.told.map(({ address, report }) => [address, report?.result])).toEqual([[ADDRESS, 'ok']]);
  const unknown = fleet.told[0]?.report?.plan?.resources.map(({ action }) => action);
  expect([unknown, postsIn(fleet).length]).toEqual([['unknown', 'unknown'], 2]);
});

it('takes up within a minute what a process was writing when it was killed', async () => {
  const fleet = await stuckInApply();
  const child = await fleet.child();
  await fleet.until(() => postsIn(fleet).length === 2);
  child.kill('SIGKILL');
  await child.ended;
  const clock = new FakeClock();
  const [tick, beat] = [1000, 8000];
  const queue = await openQueue(fleet.database, { monitor: beat / 1000 });
  await fleet.server({ clock, timing: { tick, beat, heartbeatTimeout: 30_000, startTimeout: 0 } });
  // The timers of a process that waits for nothing but its next look.
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
  for (; !fleet.told.some(({ report }) => report?.result === 'ok'); seconds++) {
    expect(seconds).toBeLessThan(60);
    // The clock of the database goes on meanwhile.
    const now = performance.now();
    await silence(fleet, 1 - (now - shifted) / 1000);
    shifted = now;
    await queue.recoverJobs();
    await clock.pass(tick);
    await idle();
  }
  expect(fleet.told[0]?.report?.result).toBe('busy');
  expect(postsIn(fleet)).toHaveLength(2);
});

it('lets a process that was stopped in mid-apply write nothing once another has taken over', async () => {
  const fleet = await stuckInApply();
  const child = await fleet.child();
  await fleet.until(() => postsIn(fleet).length === 2);
  child.kill('SIGSTOP');
  await fleet.folder.write('acme/manifests/c.yaml', agentManifest('c', 'One.'));
  await silence(fleet);
  await fleet.server();
  await fleet.until(
    async () =>
      fleet.told.some(({ report }) => report?.applied.length === 1) && (await fleet.status(ADDRESS)) === 'pending',
  );
  const after = await stateIn(fleet);
  child.kill('SIGCONT');
  // It may first be given a turn anew, for the file that came.
  await fleet.until(() => child.events.some(({ result }) => result === 'failed'));
  await step('ends in order all the same', async () => {
    child.kill('SIGTERM');
    await child.ended;
  });
  expect(await stateIn(fleet)).toEqual(after);
  expect(await fleet.pg.sql(`SELECT * FROM voxform_fleet.runs WHERE process = '${child.id}'`)).toEqual([]);
  expect([await fleet.status(ADDRESS), postsIn(fleet).length]).toEqual(['pending', 3]);
});

it('hands back at once what a process that is told to end has not done', async () => {
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

it('ends a run of its own whose job it was given anew after it was silent', async () => {
  const fleet = await testFleet({ projects: ['acme'], rules: APPLY });
  fleet.emulators.get('acme')?.faults.add({ match: { method: 'GET' }, times: 1, fault: { delayMs: 600_000 } });
  const queue = await openQueue(fleet.database);
  // It hears from nobody but the queue that its job was given back.
  await fleet.server({ grace: 100, timing: { tick: 100, beat: 600_000, heartbeatTimeout: 30_000 } });
  await fleet.until(() => (fleet.emulators.get('acme')?.requests.length ?? 0) > 0);
  await silence(fleet);
  await queue.recoverJobs();
  await fleet.until(() => fleet.told.length === 2);
  expect(fleet.told.map(({ report }) => report?.result).sort()).toEqual(['interrupted', 'ok']);
  await fleet.until(async () => (await fleet.status(ADDRESS)) === 'in-sync');
  expect(postsIn(fleet).length).toBe(1);
});

it('lets another process fetch at once what it was fetching when it was told to end', async () => {
  const fleet = await testFleet({ projects: ['acme'], rules: APPLY });
  const child = await fleet.child();
  const wait = async () => {
    const [row] = await fleet.database.query(
      'SELECT extract(epoch FROM next_fetch - now())::float8 AS wait FROM voxform_fleet.sources',
    );
    return Number(row?.wait);
  };
  // Files that were written a moment ago are waited for.
  await fleet.write('acme', 'Two.');
  await fleet.until(async () => (await wait()) > 20);
  child.kill('SIGTERM');
  await child.ended;
  expect(await wait()).toBeLessThan(5);
});

it('runs a workspace under no second address while another process still runs it under the first', async () => {
  const fleet = await fleetForExec();
  const emulator = fleet.emulators.get('acme');
  emulator?.faults.add({ match: { method: 'GET' }, times: 1, fault: { delayMs: 600_000 } });
  const child = await fleet.child();
  await fleet.until(() => (emulator?.requests.length ?? 0) > 0);
  // This process gives no further sign of life.
  await fleet.pg.sql(`UPDATE voxform_fleet.claims SET until = now() + interval '1 hour'`);
  await rename(path.join(fleet.folder.root, 'acme'), path.join(fleet.folder.root, 'renamed'));
  await fleet.server();
  const renamed = 'voices/renamed:test';
  await fleet.until(async () => (await fleet.status(renamed)) === 'failed');
  const [row] = (await fleet.control.status({ address: renamed })).workspaces;
  expect(row?.last).toMatchObject({ error: expect.stringContaining(`${ADDRESS} are the same workspace`) });
  expect(postsIn(fleet)).toEqual([]);
  await step('nor writes a command to it, but it may read', async () => {
    for (const words of [['apply', '--auto-approve'], ['import', 'Agent/a', 'ID'], ['state', 'init'], ['orphans']]) {
      const { code, stderr } = await exec(fleet, renamed, words);
      expect([code, stderr]).toEqual([1, expect.stringContaining(`in use under ${ADDRESS}`)]);
    }
    for (const words of [['plan'], ['state', 'list']])
      expect(await exec(fleet, renamed, words)).toMatchObject({ code: 0 });
    expect(postsIn(fleet)).toEqual([]);
  });
  await step('and runs it once that process is gone', async () => {
    child.kill('SIGKILL');
    await child.ended;
    await fleet.pg.sql(`UPDATE voxform_fleet.claims SET until = now() - interval '1 second'`);
    await fleet.control.run([renamed], 'ann');
    await fleet.until(async () => (await fleet.status(renamed)) === 'in-sync');
    expect(postsIn(fleet)).toHaveLength(1);
    expect(await fleet.pg.sql('SELECT * FROM voxform_fleet.claims')).toEqual([]);
  });
});

it('runs a workspace under no second address while fleet exec writes to it under the first', async () => {
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
  await step('and ends its claim with it', async () => {
    interrupts.raise('SIGTERM');
    expect((await executing).code).toBe(143);
    expect(await claims()).toEqual([]);
    expect(postsIn(fleet)).toHaveLength(1);
  });
});

/** Commands must not find the key under the name that overrides those of all projects. */
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
