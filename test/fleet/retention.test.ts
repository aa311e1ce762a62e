import { expect, it } from 'vitest';
import { fleetDatabaseAt } from '../../src/fleet/database/fleet-database.ts';
import { setUpTables } from '../../src/fleet/database/set-up-tables.ts';
import { removeExpiredRows } from '../../src/fleet/rows/process-rows.ts';
import { type Clock, systemClock } from '../../src/operator/clock.ts';
import { freshDatabase } from '../state/backends/postgres/databases.ts';
import { newDatabases } from './fleet-databases.ts';
import { costsOf, type Recorded, recording } from './statement-costs.ts';
import { testFleet } from './test-fleet.ts';

const RUNS = `INSERT INTO voxform_fleet.runs (address, started_at, seconds, mode, result, process, summary)
SELECT 'a', now() - interval '2 days', 1, 'apply', 'ok', 'p', json '{}' FROM generate_series(1, 10000)
UNION ALL SELECT 'a', now(), 1, 'apply', 'ok', 'p', json '{}'`;

/** A current freeze is kept, regardless of its age. */
const FREEZES = `INSERT INTO voxform_fleet.freezes (by, because, at, ended_at) VALUES ('ann', 'old', now() - interval '3 days', now() - interval '2 days'),
  ('ann', 'recent', now() - interval '3 days', now()), ('ann', 'in force', now() - interval '3 days', NULL)`;

it.each(Object.entries(newDatabases))(
  'removes old runs in batches, with ended freezes, and keeps all others: %s',
  { tags: ['long'] },
  async (_, open) => {
    const database = await open();
    await setUpTables(database);
    await database.query(RUNS);
    await database.query(FREEZES);
    const removed: number[] = [];
    const query: typeof database.query = async (text, ...values) => {
      const rows = await database.query(text, ...values);
      removed.push(Number(rows[0]?.count));
      return rows;
    };
    await removeExpiredRows({ ...database, query }, 86_400_000);
    // The statements remove runs, freezes, plans and pull requests.
    expect(removed).toEqual([...Array(10).fill(1000), 0, 1, 0, 0]);
    expect(await database.query('SELECT count(*)::int AS count FROM voxform_fleet.runs')).toEqual([{ count: 1 }]);
    const freezes = await database.query('SELECT because FROM voxform_fleet.freezes ORDER BY because');
    expect(freezes.map(({ because }) => because)).toEqual(['in force', 'recent']);
  },
);

it('removes old runs even if each process lives only for a minute', async () => {
  const fleet = await testFleet({ projects: [] });
  await setUpTables(fleet.database);
  await fleet.database.query(RUNS);
  const clock: Clock = {
    now: () => systemClock.now(),
    after: (milliseconds, act) => systemClock.after(milliseconds === 60_000 ? 100 : milliseconds, act),
  };
  await fleet.server({ clock, retention: 86_400_000 });
  await fleet.until(async () => {
    const [row] = await fleet.database.query('SELECT count(*)::int AS count FROM voxform_fleet.runs');
    return row?.count === 1;
  });
});

it('finds the last old runs of many by an index, where statistics still count those that it has removed', {
  tags: ['long'],
}, async () => {
  const database = fleetDatabaseAt((await freshDatabase()).url);
  try {
    await setUpTables(database);
    await database.query(`INSERT INTO voxform_fleet.runs (address, started_at, seconds, mode, result, process, summary)
SELECT 'a', now() - (n * 37 % 100) * interval '1 day', 1, 'apply', 'ok', 'p', json '{}' FROM generate_series(1, 200000) AS n`);
    await database.query('VACUUM ANALYZE voxform_fleet.runs');
    const statements: Recorded[] = [];
    const [retention, recorded] = [89.5 * 86_400_000, recording(database, statements)];
    await removeExpiredRows(database, retention);
    expect(await database.query('SELECT count(*)::int AS count FROM voxform_fleet.runs')).toEqual([{ count: 180_000 }]);
    await removeExpiredRows(recorded, retention);
    expect((await costsOf(database, [...statements])).rows).toBeLessThan(4000);
  } finally {
    await database.close();
  }
});
