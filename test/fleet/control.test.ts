/** @module-tag long */

import { expect, it } from 'vitest';
import type { FleetWorkspace } from '../../src/fleet/rows/status-rows.ts';
import { parseRuns } from '../../src/state/run-history.ts';
import { API_KEY } from '../cli/workspace.ts';
import { postgresServer } from '../state/backends/postgres/postgres-server.ts';
import { TcpProxy } from '../state/backends/tcp-proxy.ts';
import { step } from '../step.ts';
import { KEY } from './server-options.ts';
import { type TestFleet, testFleet } from './test-fleet.ts';

const rules = (mode: string, interval = '1h') => `workspaces: { "*": { mode: ${mode}, interval: ${interval} } }`;
const ADDRESS = 'voices/acme:test';
const agentsIn = ({ emulators }: TestFleet) =>
  emulators.get('acme')?.requests.filter(({ method }) => method === 'POST').length;
const shown = async ({ control }: TestFleet): Promise<FleetWorkspace | undefined> =>
  (await control.status({ address: ADDRESS })).workspaces[0];

it('applies only the approved plan, and asks again for approval of a stale plan', async () => {
  const fleet = await testFleet({ projects: ['acme'], rules: rules('approve') });
  await fleet.server();
  await fleet.until(async () => (await fleet.status(ADDRESS)) === 'waiting');
  const first = (await shown(fleet))?.plan?.id ?? '';
  await step('another plan waits after a change, and the first cannot be approved', async () => {
    await fleet.write('acme', 'Two.');
    await fleet.until(async () => ((await shown(fleet))?.plan?.id ?? first) !== first);
    await expect(fleet.control.approve(ADDRESS, first, 'ann')).rejects.toThrow('its status is stale');
  });
  const second = (await shown(fleet))?.plan?.id ?? '';
  await step('an ambiguous prefix of a plan id is refused', async () => {
    await fleet.pg.sql(
      `UPDATE voxform_fleet.plans SET digest = left('${second}', 6) || substr(digest, 7) WHERE id = '${first}'`,
    );
    await expect(fleet.control.approve(ADDRESS, second.slice(0, 6), 'ann')).rejects.toThrow('2 plans');
  });
  await step('the approved plan becomes stale before its run', async () => {
    await fleet.control.pause([ADDRESS], { by: 'ann' });
    await fleet.control.approve(ADDRESS, second, 'ann');
    await fleet.write('acme', 'Three.');
    await fleet.until(async () => {
      const rows = await fleet.pg.sql(
        'SELECT DISTINCT version FROM voxform_fleet.workspaces w JOIN voxform_fleet.sources s ON s.name = w.source',
      );
      return (
        rows.length === 1 &&
        (await fleet.pg.sql(`SELECT asked_why FROM voxform_fleet.workspaces`))[0]?.asked_why === 'changed'
      );
    });
    await fleet.control.resume([ADDRESS], 'ann');
    await fleet.until(async () => {
      const plan = (await shown(fleet))?.plan;
      return plan?.state === 'waiting' && plan.id !== second;
    });
    expect(agentsIn(fleet)).toBe(0);
  });
  const third = (await shown(fleet))?.plan?.id ?? '';
  await fleet.control.approve(ADDRESS, third, 'bob');
  await fleet.until(async () => (await fleet.status(ADDRESS)) === 'in-sync');
  expect(agentsIn(fleet)).toBe(1);
  const lines = await fleet.pg.sql('SELECT line FROM voxform_fleet.history ORDER BY revision');
  const runs = parseRuns(lines.map(({ line }) => String(line)));
  expect(JSON.stringify(runs)).toContain('"approved_by":"bob"');
  const rows = await fleet.pg.sql(
    `SELECT result, why, who, plan_id FROM voxform_fleet.runs WHERE why = 'approved' ORDER BY id DESC LIMIT 1`,
  );
  expect(rows).toEqual([{ result: 'ok', why: 'approved', who: 'bob', plan_id: third }]);
});

it('records the person of each request and decision, even if others act before the run', async () => {
  const fleet = await testFleet({ projects: ['acme'], rules: rules('approve') });
  const { control, pg } = fleet;
  const server = await fleet.server();
  await fleet.until(async () => (await fleet.status(ADDRESS)) === 'waiting');
  await server.stop('nothing runs from now on');
  const plan = (await shown(fleet))?.plan?.id ?? '';
  const people = async () =>
    (await pg.sql(`SELECT result, who FROM voxform_fleet.runs WHERE process = '' ORDER BY id`)).map(
      ({ result, who }) => `${result} ${who}`,
    );
  await step('two people request a run at once, and a third pauses it', async () => {
    await Promise.all([control.run([ADDRESS], 'ann'), control.run([ADDRESS], 'adm')]);
    expect(await control.pause([ADDRESS], { by: 'bob' })).toMatchObject({ changed: [ADDRESS] });
    expect(await control.pause([ADDRESS], { by: 'eve' })).toEqual({ changed: [], unchanged: [ADDRESS] });
    await expect(control.run([ADDRESS], 'eve')).rejects.toThrow('paused');
    expect(await control.resume([ADDRESS], 'bob')).toMatchObject({ changed: [ADDRESS] });
    const [first, second, ...rest] = await people();
    expect([first, second].toSorted()).toEqual(['requested adm', 'requested ann']);
    expect(rest).toEqual(['paused bob', 'resumed bob']);
  });
  await step('two people approve a plan at once: the second gets the name of the first', async () => {
    const both = ['ann', 'adm'].map((by) => control.approve(ADDRESS, plan, by));
    const [refused] = (await Promise.allSettled(both)).filter(({ status }) => status === 'rejected');
    const by = (await shown(fleet))?.plan?.by;
    expect(refused).toMatchObject({
      reason: { message: `${by} has already approved the plan ${plan} of ${ADDRESS}` },
    });
    await control.approve(ADDRESS, plan, String(by));
    expect((await people()).slice(4)).toEqual([`approved ${by}`]);
  });
  await step('the manifests change before the run', async () => {
    await fleet.write('acme', 'Two.');
    await fleet.server();
    await fleet.until(async () => (await shown(fleet))?.plan?.state === 'waiting');
    expect(await people()).toHaveLength(5);
  });
});

it('does not ask again for approval of a rejected plan, and shows the pending changes', async () => {
  const fleet = await testFleet({ projects: ['acme'], rules: rules('approve') });
  await fleet.server();
  await fleet.until(async () => (await fleet.status(ADDRESS)) === 'waiting');
  const rejected = (await shown(fleet))?.plan?.id ?? '';
  await fleet.control.reject(ADDRESS, rejected, { by: 'ann', because: 'too late' });
  expect(await fleet.status(ADDRESS)).toBe('pending');
  await fleet.control.run([ADDRESS], 'ann');
  await fleet.until(async () => (await shown(fleet))?.asked === null);
  const rejection = { id: rejected, by: 'ann', because: 'too late', at: expect.stringMatching(/Z$/) };
  expect(await shown(fleet)).toMatchObject({ status: 'pending', plan: null, rejected: rejection });
  const [left] = await fleet.pg.sql(
    `SELECT document AS plan FROM voxform_fleet.documents WHERE kind = 'remaining-plan'`,
  );
  expect(left?.plan).toMatchObject({ summary: { create: 1 } });
  await step('another plan waits, and later the rejected one does not wait again', async () => {
    await fleet.write('acme', 'Two.');
    await fleet.until(async () => (await shown(fleet))?.plan?.state === 'waiting');
    await fleet.write('acme', 'One.');
    await fleet.until(async () => (await fleet.status(ADDRESS)) === 'pending');
    expect(await shown(fleet)).toMatchObject({ plan: null, rejected: rejection });
  });
  const planned = await fleet.pg.sql(`SELECT plan_id FROM voxform_fleet.runs WHERE result = 'planned'`);
  expect(planned.filter(({ plan_id }) => plan_id === rejected)).toHaveLength(1);
  expect(agentsIn(fleet)).toBe(0);
  await step('the rejected plan is approved later and applied', async () => {
    expect(await fleet.control.plan(ADDRESS)).toMatchObject({ summary: { create: 1 } });
    await fleet.control.approve(ADDRESS, rejected, 'bob');
    await fleet.until(async () => (await fleet.status(ADDRESS)) === 'in-sync');
    expect([agentsIn(fleet), (await shown(fleet))?.rejected]).toEqual([1, null]);
  });
});

it('schedules no run of a paused workspace, and keeps failures and their backoff over restarts', async () => {
  const fleet = await testFleet({ projects: ['acme'], rules: rules('apply') });
  const emulator = fleet.emulators.get('acme');
  emulator?.faults.add({ match: {}, times: 100, fault: { status: 403, body: { detail: 'One.' } } });
  const server = await fleet.server();
  await fleet.until(async () => (await shown(fleet))?.failures === 1);
  const failed = await shown(fleet);
  expect(failed?.status).toBe('failed');
  expect(Date.parse(failed?.dueAt ?? '') - Date.now()).toBeGreaterThan(20_000);
  await server.stop('restart');
  await fleet.server();
  expect((await shown(fleet))?.dueAt).toBe(failed?.dueAt);
  await step('the workspace is paused', async () => {
    expect(await fleet.control.pause([ADDRESS], { by: 'ann', because: 'a visit' })).toMatchObject({
      changed: [ADDRESS],
    });
    await expect(fleet.control.run([ADDRESS], 'ann')).rejects.toThrow('paused');
    const paused = await shown(fleet);
    expect(paused?.paused).toMatchObject({ by: 'ann', because: 'a visit', at: paused?.since });
  });
  await step('the workspace is resumed and runs at once', async () => {
    await fleet.control.resume([ADDRESS], 'ann');
    await fleet.until(async () => (await shown(fleet))?.failures === 2);
  });
  await step('stores no value that a response repeats', async () => {
    emulator?.faults.clear();
    const body = { code: 'taken', message: 'nobody may say One.' };
    emulator?.faults.add({ match: { method: 'POST' }, fault: { status: 422, body } });
    await fleet.control.run([ADDRESS], 'ann');
    await fleet.until(async () => (await shown(fleet))?.failures === 3);
    const tables = ['runs', 'workspaces', 'history'];
    const kept = await Promise.all(tables.map((table) => fleet.database.query(`SELECT * FROM voxform_fleet.${table}`)));
    const text = JSON.stringify(kept);
    expect(text).toContain('422 (code taken)');
    expect(text).not.toMatch(/nobody may|One\./);
  });
  await expect(fleet.control.run(['voices/acne:test'], 'ann')).rejects.toThrow('did you mean "voices/acme:test"?');
});

it.each([
  { interval: '5s', seconds: 45, status: 'in-sync' },
  { interval: '5s', seconds: 61, status: 'stale' },
  { interval: '30s', seconds: 75, status: 'in-sync' },
  { interval: '30s', seconds: 91, status: 'stale' },
] as const)('shows $status $seconds s after the last check at an interval of $interval', async (given) => {
  const fleet = await testFleet({ projects: ['acme'], rules: rules('apply', given.interval) });
  const server = await fleet.server();
  await fleet.until(async () => (await fleet.status(ADDRESS)) === 'in-sync');
  await server.stop('over');
  await fleet.pg.sql(
    `UPDATE voxform_fleet.workspaces SET checked_at = now() - interval '${given.seconds} seconds', checked_before = '-infinity'`,
  );
  expect(await fleet.status(ADDRESS)).toBe(given.status);
  const { counts, workspaces } = await fleet.control.status({ statuses: [given.status] });
  expect([counts[given.status], workspaces.map(({ status }) => status)]).toEqual([1, [given.status]]);
});

it('continues after a database outage, and stores no secret in any table', async () => {
  const { port } = await postgresServer();
  await using proxy = await TcpProxy.start(port);
  const fleet = await testFleet({
    projects: ['acme'],
    rules: rules('apply', '1s'),
    url: (pg) => pg.urlWith({ port: proxy.port }),
  });
  const server = await fleet.server();
  await fleet.until(() => fleet.reports.some(({ report }) => report?.result === 'ok'));
  await step('the connection is lost', async () => {
    proxy.fate = () => 'lost';
    await fleet.until(() => fleet.log.some((line) => line.includes('cannot use the database')));
    proxy.fate = () => undefined;
    const before = fleet.reports.length;
    await fleet.until(
      () => fleet.reports.length > before + 1 && fleet.log.some((line) => line.includes('is available again')),
    );
  });
  expect([server.isReady, server.isAlive, agentsIn(fleet)]).toEqual([true, true, 1]);
  const tables = await fleet.pg.sql(
    `SELECT table_schema || '.' || table_name AS name FROM information_schema.tables WHERE table_schema LIKE 'voxform%'`,
  );
  const dumps = [];
  for (const { name } of tables) dumps.push(JSON.stringify(await fleet.pg.sql(`SELECT * FROM ${name}`)));
  const text = dumps.join('\n');
  expect(text).toContain('agent-of-acme');
  for (const secret of [KEY, API_KEY, 'p@ss', encodeURIComponent('p@ss/word#1')]) expect(text).not.toContain(secret);
});
