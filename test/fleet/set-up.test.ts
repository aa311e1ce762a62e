import { getRollbackPlans } from 'pg-boss';
import { expect, it } from 'vitest';
import { type FleetDatabase, fleetDatabaseAt } from '../../src/fleet/database/fleet-database.ts';
import { schemaSteps } from '../../src/fleet/database/fleet-tables.ts';
import { queueScript, queueVersion } from '../../src/fleet/database/queue-tables.ts';
import { setUpTables, tablesScript } from '../../src/fleet/database/set-up-tables.ts';
import { Queue } from '../../src/fleet/queue.ts';
import { storeFinishedRuns } from '../../src/fleet/rows/finished-runs.ts';
import { fleetFigures } from '../../src/fleet/rows/status-rows.ts';
import { scheduleDue } from '../../src/fleet/serve.ts';
import { type Database, freshDatabase } from '../state/backends/postgres/databases.ts';
import { step } from '../step.ts';
import { contentsOf, discover, finishedRuns, memberNamed, openQueue } from './fleet-databases.ts';

const TIMING = { heartbeat: 30, monitor: 600, expiry: 700 };
const beginAt = async (database: FleetDatabase): Promise<void> => {
  await setUpTables(database);
  const queue = await Queue.open(database, TIMING, () => undefined);
  await queue.close();
};

/** Performs once all operations of a fleet on its database. */
async function runOnce(database: FleetDatabase, queue: Queue, project: string): Promise<void> {
  await discover(database, contentsOf([memberNamed(project)]));
  await scheduleDue(database, queue, ['voices']);
  await storeFinishedRuns(database, queue, await finishedRuns(database, await queue.take(9, [])));
  expect((await fleetFigures(database)).counts['in-sync']).toBe(1);
}

const refusals: readonly { reason: string; prepare: string; message: RegExp }[] = [
  {
    reason: 'a table of another application',
    prepare: 'CREATE SCHEMA voxform_fleet; CREATE TABLE voxform_fleet.workspaces (id int)',
    message: /has tables that do not belong to a fleet: workspaces/,
  },
  {
    reason: 'a queue of another application',
    prepare: 'CREATE SCHEMA voxform_queue; CREATE TABLE voxform_queue.job (id int)',
    message: /has tables that do not belong to a queue: job/,
  },
];

it.each(refusals)('refuses $reason, and changes nothing', async ({ prepare, message }) => {
  const { url, sql } = await freshDatabase();
  await sql(prepare);
  const tables = () =>
    sql(`SELECT schemaname, tablename FROM pg_tables WHERE schemaname LIKE 'voxform%' ORDER BY 1, 2`);
  const before = await tables();
  await expect(beginAt(fleetDatabaseAt(url))).rejects.toThrow(message);
  expect(await tables()).toEqual(before);
});

it('refuses incompatible tables of a newer version, and uses compatible ones', async () => {
  const { url, sql } = await freshDatabase();
  const database = fleetDatabaseAt(url);
  const queue = await openQueue(database);
  await step('a process of the previous version continues with tables of the next', async () => {
    const next = { compatibleFrom: 1, statements: 'ALTER TABLE workspaces ADD COLUMN label text' };
    await setUpTables(database, [...schemaSteps, next]);
    await runOnce(database, queue, 'a');
    await beginAt(database);
  });
  await step('it refuses tables that it would misread', async () => {
    const version = schemaSteps.length + 2;
    const next = { compatibleFrom: version, statements: 'ALTER TABLE workspaces ADD COLUMN colour text' };
    await setUpTables(database, [...schemaSteps, { compatibleFrom: 1, statements: '' }, next]);
    await expect(beginAt(database)).rejects.toThrow(
      `has version ${version}; this version of voxform supports ${schemaSteps.length}`,
    );
  });
  await sql(
    `UPDATE voxform_fleet.schema_version SET version = ${schemaSteps.length} WHERE part LIKE 'fleet%'; UPDATE voxform_queue.version SET version = 999`,
  );
  await expect(beginAt(database)).rejects.toThrow(
    /voxform_queue .* has version 999; this version of voxform supports \d+/,
  );
});

it('migrates tables of the first version while a process uses them, and loses nothing', async () => {
  const { url, sql } = await freshDatabase();
  const database = fleetDatabaseAt(url);
  const queue = await openQueue(database);
  await runOnce(database, queue, 'a');
  await sql(`DROP INDEX voxform_fleet.states_workspace; ALTER TABLE voxform_fleet.sources DROP COLUMN broken;
DROP TABLE voxform_fleet.comparisons; DROP TABLE voxform_fleet.claims; ALTER TABLE voxform_fleet.schema_version DROP COLUMN form_key;
ALTER TABLE voxform_fleet.sources DROP COLUMN identity, DROP COLUMN wanted, DROP COLUMN fetching, DROP COLUMN pulls_problem, DROP COLUMN pulls_problem_since;
ALTER TABLE voxform_fleet.workspaces DROP COLUMN checked_before, DROP COLUMN attention, DROP COLUMN labels;
DROP INDEX voxform_fleet.workspaces_status, voxform_fleet.workspaces_paused, voxform_fleet.workspaces_vanished, voxform_fleet.workspaces_asked,
  voxform_fleet.workspaces_origin, voxform_fleet.documents_requests, voxform_fleet.plans_ended;
DELETE FROM voxform_fleet.documents; ALTER TABLE voxform_fleet.documents DROP COLUMN document;
ALTER TABLE voxform_fleet.documents RENAME COLUMN kind TO key; ALTER TABLE voxform_fleet.documents RENAME TO notified;
DROP TABLE voxform_fleet.freezes; DROP TABLE voxform_fleet.trends; DROP TABLE voxform_fleet.identity_sessions;
DROP TABLE voxform_fleet.search_terms; DROP TABLE voxform_fleet.pull_plans; DROP TABLE voxform_fleet.pulls; ALTER TABLE voxform_fleet.processes DROP COLUMN sources;
UPDATE voxform_fleet.schema_version SET version = 1 WHERE part = 'fleet'`);
  const { address } = memberNamed('a');
  await sql(`INSERT INTO voxform_fleet.states (name, write, generation) VALUES ('${address}', 'w', 'w');
INSERT INTO voxform_fleet.notified VALUES ('${address}', 'told', '{"drifted": "a"}'), ('${address}', 'request', '{"problem": null}'), ('${address}', 'search', 'abc');
INSERT INTO voxform_fleet.plans (address, id, digest, plan, state) VALUES ('${address}', 'left', 'l', '{"of": "left"}', 'left'),
  ('${address}', 'outside', 'o', '{"of": "outside"}', 'outside'), ('${address}', 'p', 'p', '{}', 'waiting')`);
  const before = await sql('SELECT w.*, s.* FROM voxform_fleet.workspaces w, voxform_fleet.states s');
  await sql(`UPDATE voxform_fleet.workspaces SET last = last || '{"doubtful": 0, "person": 2}'`);
  await beginAt(database);
  const after = await sql('SELECT w.*, s.* FROM voxform_fleet.workspaces w, voxform_fleet.states s');
  expect(after).toMatchObject(before);
  expect(after).toMatchObject([{ attention: 2, last: { at_risk: 0, manual_steps: 2 } }]);
  expect(await sql('SELECT id FROM voxform_fleet.plans')).toEqual([{ id: 'p' }]);
  expect(await sql('SELECT kind, digest, document FROM voxform_fleet.documents ORDER BY kind')).toEqual([
    { kind: 'drift-request', digest: null, document: { problem: null } },
    { kind: 'external-state', digest: 'o', document: { of: 'outside' } },
    { kind: 'remaining-plan', digest: 'l', document: { of: 'left' } },
    { kind: 'reported-events', digest: null, document: { drifted: 'a' } },
    { kind: 'search-terms', digest: 'abc', document: null },
  ]);
  const [{ version } = {}] = await sql(`SELECT version FROM voxform_fleet.schema_version WHERE part = 'fleet'`);
  expect(version).toBe(schemaSteps.length);
  expect(await sql(`SELECT to_regclass('voxform_fleet.states_workspace') AS found`)).not.toEqual([{ found: null }]);
  await sql('UPDATE voxform_fleet.workspaces SET due_at = now()');
  await runOnce(database, queue, 'a');
});

it('migrates the tables of the queue with their jobs, also by the script', {
  tags: ['long'],
}, async () => {
  for (const isByScript of [false, true]) {
    const pg = await freshDatabase();
    const database = fleetDatabaseAt(pg.url);
    const queue = await openQueue(database);
    await discover(database, contentsOf([memberNamed('a')]));
    await scheduleDue(database, queue, ['voices']);
    // Its polls of the queue would find the older tables.
    await queue.close();
    const newest = await queueVersion(database);
    await pg.sql(getRollbackPlans('voxform_queue', newest));
    const old = await queueVersion(database);
    expect(old).toBe(newest - 1);
    // Executes the script as psql does: statement by statement after the transaction.
    const script = isByScript ? queueScript(await pg.role(), old) : '';
    const [inTransaction = '', after = ''] = script.split(/(?<=^\s*COMMIT;)/m);
    for (const each of [inTransaction, ...after.split(';')]) await pg.sql(each);
    const again = await openQueue(database);
    expect(await queueVersion(database)).toBe(newest);
    expect((await again.take(9, [])).map(({ address }) => address)).toEqual([memberNamed('a').address]);
  }
});

it('sets up once if many processes start at the same time', async () => {
  const { url } = await freshDatabase();
  await Promise.all([1, 2, 3].map(() => beginAt(fleetDatabaseAt(url))));
  await runOnce(fleetDatabaseAt(url), await openQueue(fleetDatabaseAt(url)), 'a');
});

it('needs only the rights that an administrator granted, and before that prints the script to run', async () => {
  const pg: Database = await freshDatabase();
  const role = await pg.role();
  const database = fleetDatabaseAt(pg.urlWith({ user: role, password: 'p' }));
  await expect(beginAt(database)).rejects.toMatchObject({
    message: expect.stringMatching(/permission denied/),
    hint: expect.stringContaining('voxform fleet init --sql'),
  });
  await pg.sql(`BEGIN;\n${tablesScript(role, 0)}\nCOMMIT;\n${queueScript(role, 0)}`);
  const queue = await openQueue(database);
  await runOnce(database, queue, 'a');
  await queue.recoverJobs();
});
