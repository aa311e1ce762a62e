/** @module-tag long */

import { expect, it } from 'vitest';
import { Interrupts } from '../../src/cli/interrupts.ts';
import { fleetDatabaseAt } from '../../src/fleet/database/fleet-database.ts';
import { setUpTables } from '../../src/fleet/database/set-up-tables.ts';
import { FleetNotifications } from '../../src/fleet/notifications.ts';
import {
  endFreeze,
  latestFreezes,
  startFreeze,
  storeReportedFreeze,
  takeFreezeEvents,
} from '../../src/fleet/rows/freeze-rows.ts';
import { storeHeartbeat } from '../../src/fleet/rows/process-rows.ts';
import { systemClock } from '../../src/operator/clock.ts';
import { Deliveries } from '../../src/operator/notifications/deliveries.ts';
import { Secret } from '../../src/values/value.ts';
import { projectFile } from '../cli/workspace.ts';
import { listenHttp } from '../platform/listen.ts';
import { freshDatabase } from '../state/backends/postgres/databases.ts';
import { step } from '../step.ts';
import { command } from '../trust/in-process.ts';
import { KEY } from './server-options.ts';
import { type TestFleet, testFleet } from './test-fleet.ts';

const ADDRESS = 'voices/acme:test';
const rules = (mode: string) => `workspaces: { "*": { mode: ${mode}, interval: 1h } }`;
const freeze = { by: 'ann', because: 'incident 7' };
const writesTo = ({ emulators }: TestFleet) =>
  emulators.get('acme')?.requests.filter(({ method }) => method !== 'GET').length ?? 0;
const shown = async ({ control }: TestFleet) => (await control.status({ address: ADDRESS })).workspaces[0];
const holdOf = async (fleet: TestFleet): Promise<unknown> => {
  const last = (await shown(fleet))?.last;
  return last !== null && typeof last === 'object' && 'hold' in last ? last.hold : undefined;
};

it('finishes requests in flight when the fleet is frozen, and writes the rest afterwards', async () => {
  const agents = Array.from({ length: 20 }, (_, index) => `agent-${index}`);
  const fleet = await testFleet({ projects: ['acme'], agents, rules: rules('apply') });
  const { control, emulators, pg } = fleet;
  emulators.get('acme')?.faults.add({ match: { method: 'POST' }, times: 8, fault: { delayMs: 3_000 } });
  await fleet.child();
  await fleet.until(() => writesTo(fleet) > 0);
  expect(await control.freeze(freeze)).toBe(true);
  expect(await control.freeze({ by: 'bob', because: 'another' })).toBe(false);
  await fleet.until(async () => (await holdOf(fleet)) === 'frozen');
  const written = writesTo(fleet);
  const created = async () => emulators.get('acme')?.world.agents.size;
  await step('nothing is lost, and nothing more is written, also by a process that starts', async () => {
    expect(written).toBeLessThan(21);
    expect(await created()).toBe(written);
    expect(await fleet.status(ADDRESS)).toBe('pending');
    await fleet.server();
    await control.run([ADDRESS], 'bob');
    await fleet.until(async () => (await shown(fleet))?.asked === null);
    expect(writesTo(fleet)).toBe(written);
  });
  await step('the history contains who stopped the run, who held the next one, and why', async () => {
    const because = 'the fleet was frozen by ann: incident 7';
    const runs = await pg.sql(
      `SELECT result, summary->>'error' AS error, summary->>'held' AS held FROM voxform_fleet.runs WHERE address = '${ADDRESS}' ORDER BY id LIMIT 2`,
    );
    expect(runs).toMatchObject([
      { result: 'interrupted', error: because },
      { result: 'ok', error: null, held: expect.stringContaining('ann froze the fleet (incident 7)') },
    ]);
    const env = { FLEET_DATABASE_URL: pg.url };
    const words = ['fleet', 'exec', ADDRESS, '--', 'history', '--output', 'json'];
    const { stdout, stderr } = await command(words, { cwd: fleet.folder.root, env });
    expect(stderr).toBe('');
    expect(JSON.parse(stdout).runs).toMatchObject([{ result: 'interrupted', error: because }]);
    expect(JSON.parse(stdout).runs[0].resources).toContainEqual(
      expect.objectContaining({ result: 'skipped', error: because }),
    );
  });
  await step('status and history contain the person and the reason', async () => {
    const { frozen } = await control.status({});
    expect(frozen).toEqual({ ...freeze, at: expect.stringMatching(/Z$/) });
    expect(await control.unfreeze('bob')).toBe(true);
    expect(await control.unfreeze('bob')).toBe(false);
    const ended = { endedAt: expect.any(Date), endedBy: 'bob' };
    expect(await latestFreezes(fleet.database, 2)).toEqual([{ ...freeze, ...ended, at: expect.any(Date) }]);
  });
  await fleet.until(async () => (await fleet.status(ADDRESS)) === 'in-sync');
  expect([await created(), writesTo(fleet)]).toEqual([21, 21]);
});

it('writes nothing while it cannot learn whether the fleet is frozen', async () => {
  const fleet = await testFleet({ projects: ['acme'], rules: rules('apply') });
  await fleet.server();
  await fleet.until(async () => (await fleet.status(ADDRESS)) === 'in-sync');
  await fleet.pg.sql('ALTER TABLE voxform_fleet.freezes RENAME TO hidden');
  const written = writesTo(fleet);
  await fleet.write('acme', 'Two.');
  await fleet.until(() => fleet.reports.some(({ report }) => report?.applied[0]?.result.status === 'skipped'));
  expect(writesTo(fleet)).toBe(written);
  await fleet.pg.sql('ALTER TABLE voxform_fleet.hidden RENAME TO freezes');
  await fleet.control.run([ADDRESS], 'ann');
  await fleet.until(() => writesTo(fleet) > written);
  await fleet.until(async () => (await fleet.status(ADDRESS)) === 'in-sync');
  expect(writesTo(fleet)).toBe(written + 1);
});

it('stops a command that writes after its requests in flight', async () => {
  const agents = Array.from({ length: 20 }, (_, index) => `agent-${index}`);
  const fleet = await testFleet({ projects: ['acme'], agents, rules: rules('report') });
  const acme = fleet.emulators.get('acme');
  if (acme !== undefined)
    await fleet.folder.write(
      'acme/voxform.yaml',
      `${projectFile(acme).replace('VOXFORM_API_KEY', 'KEY_OF_ACME')}limits: { concurrency: 2 }\n`,
    );
  await fleet.server();
  await fleet.until(async () => (await fleet.status(ADDRESS)) === 'pending');
  acme?.faults.add({ match: { method: 'POST' }, times: 8, fault: { delayMs: 1_000 } });
  const env = { FLEET_DATABASE_URL: fleet.pg.url, KEY_OF_ACME: KEY };
  const apply = () => {
    const interrupts = new Interrupts(() => undefined);
    const words = ['fleet', 'exec', ADDRESS, '--', 'apply', '--auto-approve'];
    return command(words, { cwd: fleet.folder.root, env, interrupts });
  };
  const first = apply();
  await fleet.until(() => writesTo(fleet) > 0);
  await fleet.control.freeze(freeze);
  const { code, stderr } = await first;
  expect([code === 0, stderr]).toEqual([false, expect.stringContaining('frozen by ann')]);
  const written = writesTo(fleet);
  expect([written < 21, acme?.world.agents.size]).toEqual([true, written]);
  const history = ['fleet', 'exec', ADDRESS, '--', 'history', '--output', 'json'];
  const { stdout } = await command(history, { cwd: fleet.folder.root, env });
  const because = 'the fleet was frozen by ann: incident 7';
  expect(JSON.parse(stdout).runs).toMatchObject([{ command: 'apply', result: 'interrupted', error: because }]);
  expect((await apply()).stderr).toContain('frozen by ann');
  await fleet.control.unfreeze('ann');
  expect(await apply()).toMatchObject({ code: 0 });
  expect([acme?.world.agents.size, writesTo(fleet)]).toEqual([21, 21]);
});

it('keeps an approval while the fleet is frozen, and applies the plan afterwards', async () => {
  const fleet = await testFleet({ projects: ['acme'], rules: rules('approve') });
  const { control } = fleet;
  await fleet.server();
  await fleet.until(async () => (await fleet.status(ADDRESS)) === 'waiting');
  const plan = (await shown(fleet))?.plan?.id ?? '';
  await control.freeze(freeze);
  // A process may write for less than a second after a freeze.
  await fleet.until(() => fleet.log.some((line) => line.includes('frozen by ann')));
  await control.approve(ADDRESS, plan, 'bob');
  await fleet.until(async () => (await holdOf(fleet)) === 'frozen');
  expect([(await shown(fleet))?.plan, writesTo(fleet)]).toMatchObject([{ id: plan, state: 'approved', by: 'bob' }, 0]);
  await step('commands may not write either', async () => {
    const claim = { address: ADDRESS, holder: 'command', workspaceId: 'one', baseUrl: 'https://one.example.com' };
    await expect(control.claim(claim)).rejects.toThrow('frozen by ann');
  });
  await control.unfreeze('ann');
  await fleet.until(async () => (await fleet.status(ADDRESS)) === 'in-sync');
  expect(writesTo(fleet)).toBe(1);
});

it('ends a run before its first write as a plan', async () => {
  let isFreezing = false;
  const fleet = await testFleet({
    projects: ['acme'],
    rules: rules('apply'),
    onRequest: async ({ method, path }) => {
      if (!isFreezing || method !== 'GET' || !path.includes('/agents/')) return undefined;
      isFreezing = false;
      await fleet.control.freeze(freeze);
      await fleet.until(() => fleet.log.some((line) => line.includes('frozen by ann')));
      return undefined;
    },
  });
  const { reports } = fleet;
  await fleet.server();
  await fleet.until(async () => (await fleet.status(ADDRESS)) === 'in-sync');
  isFreezing = true;
  await fleet.write('acme', 'Two.');
  await fleet.until(async () => (await fleet.status(ADDRESS)) === 'pending');
  expect(reports.map(({ report }) => [report?.result, report?.hold?.reason])).toEqual([
    ['ok', undefined],
    ['ok', 'frozen'],
  ]);
  const { last } = (await shown(fleet)) ?? {};
  expect(last).toMatchObject({ error: null, problems: [], held: expect.stringContaining('ann froze the fleet') });
});

it('keeps the approval of a plan whose run is stopped by a freeze before its first write', async () => {
  let isFrozen: Promise<void> | undefined;
  const fleet = await testFleet({
    projects: ['acme'],
    rules: rules('approve'),
    onRequest: async ({ path }) => {
      // The last read before the first write to an empty workspace.
      if (!path.includes('/users')) return undefined;
      isFrozen ??= (async () => {
        await fleet.control.freeze(freeze);
        await fleet.until(() => fleet.log.some((line) => line.includes('frozen by ann')));
      })();
      await isFrozen;
      return undefined;
    },
  });
  const { control, reports } = fleet;
  await fleet.server();
  await fleet.until(async () => (await fleet.status(ADDRESS)) === 'waiting');
  const plan = (await shown(fleet))?.plan?.id ?? '';
  await control.approve(ADDRESS, plan, 'bob');
  await fleet.until(async () => (await holdOf(fleet)) === 'frozen');
  expect(reports.flatMap(({ report }) => report?.applied.map(({ result }) => result.status) ?? [])).toEqual([
    'skipped',
  ]);
  expect([(await shown(fleet))?.plan, writesTo(fleet)]).toMatchObject([{ id: plan, state: 'approved', by: 'bob' }, 0]);
  await control.unfreeze('ann');
  await fleet.until(async () => (await fleet.status(ADDRESS)) === 'in-sync');
  expect(writesTo(fleet)).toBe(1);
});

it('notifies receivers of a freeze that no process has seen', async () => {
  const { url, seen } = await listenHttp((_, response) => void response.end());
  const fleet = await testFleet({ projects: ['acme'], rules: rules('report') });
  await (await fleet.server()).stop('restart');
  await step('the end of the freeze is sent too', async () => {
    await fleet.control.freeze(freeze);
    await fleet.control.unfreeze('bob');
    const deliveries = new Deliveries({ clock: systemClock, random: Math.random });
    const database = fleetDatabaseAt(fleet.pg.url);
    const notifications = new FleetNotifications({ database, deliveries, onResult() {} });
    const receivers = [{ url: new Secret('hook', `${url}/hook`), shown: 'a receiver' }];
    const network = () => ({ proxy: undefined, ca: undefined });
    await fleet.server({
      notifyFreezes: (process) =>
        notifications.notifyFreezes(process, { receivers, network, link: undefined, log: { entry() {} } }),
    });
    await fleet.until(() => seen.length === 2);
    await fleet.control.freeze(freeze);
    await fleet.until(() => seen.length === 3);
    await notifications.end(10_000);
  });
  expect(seen.map(({ body }) => JSON.parse(body))).toMatchObject([
    { event: 'frozen', by: 'ann', because: 'incident 7' },
    { event: 'resumed', by: 'bob' },
    { event: 'frozen' },
  ]);
});

it('resends notifications that a process did not deliver before it ended', async () => {
  let status = 503;
  const { url, seen } = await listenHttp((_, response) => void response.writeHead(status).end());
  const database = fleetDatabaseAt((await freshDatabase()).url);
  await setUpTables(database);
  const receivers = ['a', 'b'].map((path) => ({ url: new Secret('hook', `${url}/${path}`), shown: 'a receiver' }));
  const network = () => ({ proxy: undefined, ca: undefined });
  const process = async (id: string) => {
    const serving = { id, host: 'here', pid: 1, version: '1', slots: 1, sources: {} };
    await storeHeartbeat(database, serving, { isEnding: false, runs: [] });
    const deliveries = new Deliveries({ clock: systemClock, random: Math.random });
    const notifications = new FleetNotifications({ database, deliveries, onResult() {} });
    return {
      tell: () => notifications.notifyFreezes(id, { receivers, network, link: undefined, log: { entry() {} } }),
      end: (milliseconds: number) => notifications.end(milliseconds),
    };
  };
  const events = () => [...new Set(seen.map(({ url: path, body }) => `${path} ${JSON.parse(body).event}`))].sort();
  const [first, second] = [await process('first'), await process('second')];
  await startFreeze(database, freeze);
  await first.tell();
  await expect.poll(events).toEqual(['/a frozen', '/b frozen']);
  await endFreeze(database, 'bob');
  await first.end(0);
  await step('the process is gone without a response', async () => {
    await database.query(`UPDATE voxform_fleet.processes SET heard_at = now() - interval '2 min' WHERE id = 'first'`);
    seen.length = 0;
    status = 200;
    await second.tell();
    await second.end(10_000);
    expect(events()).toEqual(['/a frozen', '/a resumed', '/b frozen', '/b resumed']);
  });
  const third = await process('third');
  await third.tell();
  await third.end(10_000);
  expect(seen).toHaveLength(4);
});

it('sends the end of a freeze while its start is still being delivered', async () => {
  const database = fleetDatabaseAt((await freshDatabase()).url);
  await setUpTables(database);
  for (const id of ['first', 'second']) {
    const serving = { id, host: 'here', pid: 1, version: '1', slots: 1, sources: {} };
    await storeHeartbeat(database, serving, { isEnding: false, runs: [] });
  }
  const take = async (process: string) => (await takeFreezeEvents(database, process)).map(({ event }) => event);
  await startFreeze(database, freeze);
  expect([await take('first'), await take('second'), await take('first')]).toEqual([['frozen'], [], []]);
  await endFreeze(database, 'bob');
  expect([await take('second'), await take('first')]).toEqual([['resumed'], []]);
  await storeReportedFreeze(database, { id: '1', event: 'resumed' });
  await storeReportedFreeze(database, { id: '1', event: 'frozen' });
  await database.query('DELETE FROM voxform_fleet.processes');
  expect(await take('third')).toEqual([]);
});
