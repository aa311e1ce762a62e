/** @module-tag long */

import { expect, it, onTestFinished } from 'vitest';
import { createFleetMetrics } from '../../src/fleet/fleet-metrics.ts';
import { fleetFigures } from '../../src/fleet/rows/status-rows.ts';
import { systemClock } from '../../src/operator/clock.ts';
import { WrongTokens } from '../../src/operator/health/admission.ts';
import { listen } from '../../src/operator/health/listener.ts';
import { TrustedProxy } from '../../src/page/access/trusted-proxy.ts';
import { startPostgres } from '../state/backends/postgres/postgres-server.ts';
import { step } from '../step.ts';
import { testFleet } from './test-fleet.ts';

const APPLY = 'workspaces: { "*": { mode: apply, interval: 1h } }';

it('reports a PostgreSQL outage over HTTP, and continues when the database is back', async () => {
  await using postgres = await startPostgres();
  const fleet = await testFleet({
    projects: ['acme'],
    rules: APPLY,
    url: () => postgres.url('postgres'),
  });
  let later = 0;
  const now = () => systemClock.now() + later;
  const server = await fleet.server({ clock: { ...systemClock, now } });
  const metrics = createFleetMetrics('1', () => fleetFigures(fleet.database));
  const listener = await listen({
    listen: { host: '127.0.0.1', port: 0 },
    names: [],
    proxy: new TrustedProxy([]),
    userHeader: undefined,
    token: undefined,
    isAlive: () => server.isAlive,
    isReady: () => server.isReady,
    status: async () => JSON.parse(JSON.stringify(await fleet.control.status({ limit: 0 }))),
    metrics: async () => ({ contentType: metrics.contentType, text: await metrics.text() }),
    redact: String,
    page: { fetch: () => new Response(null, { status: 404 }), mayRead: async () => true },
    wrongTokens: new WrongTokens({ now: () => 0 }),
  });
  onTestFinished(() => listener.close());
  const codes = async (): Promise<number[]> => {
    const paths = ['healthz', 'readyz', 'status', 'metrics'];
    const answers = await Promise.all(paths.map((path) => fetch(`${listener.url}/${path}`)));
    return answers.map(({ status }) => status);
  };
  await fleet.until(async () => (await fleet.status('voices/acme:test')) === 'in-sync');
  expect(await codes()).toEqual([200, 200, 200, 200]);
  await step('the database crashed', async () => {
    await postgres.stop('QUIT');
    expect((await codes()).slice(2)).toEqual([503, 503]);
    await postgres.start();
    await fleet.until(async () => (await codes()).every((code) => code === 200));
  });
  await step('the database is stopped', async () => {
    await postgres.stop();
    later = 31_000;
    await fleet.until(async () => (await codes()).join() === '200,503,503,503');
    const { error } = (await (await fetch(`${listener.url}/metrics`)).json()) as { readonly error: string };
    expect(error).toMatch(/^cannot use the database of the fleet, postgres:\S+: connection refused \(Start/);
  });
  await step('the database is started again', async () => {
    await postgres.start();
    await fleet.until(async () => (await codes()).every((code) => code === 200));
  });
  await fleet.write('acme', 'Two.');
  await fleet.until(() => fleet.reports.some(({ report }) => report?.applied[0]?.action === 'update'));
  const said = fleet.log.filter((line) => line.includes('database'));
  expect(said.at(-1)).toBe('info the database is available again');
  expect(said.filter((line) => line.startsWith('error cannot use the database')).length).toBeGreaterThan(0);
});

it('is not ready while a statement that its work needs fails, even if others succeed', async () => {
  const fleet = await testFleet({ projects: ['acme'], rules: APPLY });
  let later = 0;
  const now = () => systemClock.now() + later;
  const server = await fleet.server({ clock: { ...systemClock, now } });
  await fleet.until(async () => (await fleet.status('voices/acme:test')) === 'in-sync');
  const said = () => fleet.log.filter((line) => line.includes('database'));
  const heardAgain = async (): Promise<void> => {
    const { query } = fleet.database;
    const [{ at } = {}] = await query('SELECT max(heard_at)::text AS at FROM voxform_fleet.processes');
    const heard = 'SELECT FROM voxform_fleet.processes WHERE heard_at > $1';
    await fleet.until(async () => (await query(heard, at)).length === 1);
  };
  await fleet.pg.sql(`CREATE FUNCTION public.refuse() RETURNS trigger AS $$ BEGIN RAISE 'refused'; END $$ LANGUAGE plpgsql;
CREATE TRIGGER refuse BEFORE UPDATE ON voxform_fleet.workspaces FOR EACH STATEMENT EXECUTE FUNCTION public.refuse()`);
  await fleet.until(() => said().length > 0);
  later = 31_000;
  for (let beats = 0; beats < 3; beats++) await heardAgain();
  expect([server.isReady, said()]).toEqual([false, [expect.stringMatching(/^error cannot use .*refused/)]]);
  await fleet.pg.sql('DROP TRIGGER refuse ON voxform_fleet.workspaces');
  await fleet.until(() => server.isReady);
  expect(said().slice(1)).toEqual(['info the database is available again']);
});
