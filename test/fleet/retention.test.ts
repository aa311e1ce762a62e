import { expect, it } from 'vitest';
import { setUpTables } from '../../src/fleet/database/set-up-tables.ts';
import { removeOldRuns } from '../../src/fleet/rows/process-rows.ts';
import { newDatabases } from './fleet-databases.ts';

const RUNS = `INSERT INTO voxform_fleet.runs (address, started_at, seconds, mode, result, process, summary)
SELECT 'a', now() - interval '2 days', 1, 'apply', 'ok', 'p', json '{}' FROM generate_series(1, 10000)
UNION ALL SELECT 'a', now(), 1, 'apply', 'ok', 'p', json '{}'`;

it.each(Object.entries(newDatabases))('old runs are removed in batches, and no others: %s', async (_, open) => {
  const database = await open();
  await setUpTables(database);
  await database.ask(RUNS);
  const removed: number[] = [];
  const ask: typeof database.ask = async (text, ...values) => {
    const rows = await database.ask(text, ...values);
    removed.push(Number(rows[0]?.count));
    return rows;
  };
  await removeOldRuns({ ...database, ask }, 86_400_000);
  expect(removed).toEqual([5000, 5000, 0, 0]);
  expect(await database.ask('SELECT count(*)::int AS count FROM voxform_fleet.runs')).toEqual([{ count: 1 }]);
});
