import { expect, it } from 'vitest';
import { fleetDatabaseAt, withPageLimit } from '../../src/fleet/database/fleet-database.ts';
import { freshDatabase } from '../state/backends/postgres/databases.ts';

it('answers the queries of runs while slow requests to the page use the database', async () => {
  const { url } = await freshDatabase();
  const database = fleetDatabaseAt(url);
  const forPage = withPageLimit(database);
  let requests: Promise<unknown>[] = [];
  await database.atomically(async ({ query }) => {
    await query('SELECT pg_advisory_xact_lock(1)');
    const slow = () => forPage.query('SELECT 1 FROM pg_advisory_xact_lock_shared(1)');
    requests = Array.from({ length: 20 }, (_, index) =>
      index % 2 === 0
        ? slow()
        : forPage.atomically((statements) => statements.query('SELECT 1 FROM pg_advisory_xact_lock_shared(1)')),
    );
    // Without the limit, this statement would wait for a connection until the lock ends, and then fail.
    expect(await database.query('SELECT 2 AS number')).toEqual([{ number: 2 }]);
  });
  expect(await Promise.all(requests)).toHaveLength(20);
  // A failed request frees its connection too.
  await Promise.allSettled(Array.from({ length: 10 }, () => forPage.query('SELECT 1 / 0')));
  expect(await forPage.query('SELECT 3 AS number')).toEqual([{ number: 3 }]);
});
