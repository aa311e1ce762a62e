import type { FleetDatabase } from '../../src/fleet/database/fleet-database.ts';
import { setUpTables } from '../../src/fleet/database/set-up-tables.ts';

/**
 * Fills the tables of a fleet with workspaces, a quarter each in sync, drifted, failed and waiting, with long names and
 * errors.
 */
export async function enterMany(database: FleetDatabase, count: number): Promise<void> {
  await setUpTables(database);
  await database.query(
    `INSERT INTO voxform_fleet.sources (name, shown) VALUES ('voices', 'main of https://git.example.com/voices')`,
  );
  await database.query(`INSERT INTO voxform_fleet.workspaces
  (address, source, project, workspace, mode, interval_ms, version, due_at, status, status_since, checked_at, last)
SELECT 'voices/clients/' || repeat('long-', 8) || lpad(n::text, 5, '0') || ':production', 'voices', 'clients/' || n, 'production',
  'report', 300000, 'v', now(), (ARRAY['in-sync', 'drifted', 'failed', 'waiting'])[1 + n % 4], now(),
  now() - (n % 5) * interval '1 minute', json_build_object('error', repeat('GET /api/v1/agents/01J: 503 ', 20), 'drift', json_build_array('Agent/a'))::jsonb
FROM generate_series(1, ${count}) AS n; ANALYZE voxform_fleet.workspaces`);
}

/** Lists in every order and with every filter. */
export const listPaths = [
  '/',
  '/workspaces',
  '/workspaces?status=failed&page=50',
  '/workspaces?q=long-0999',
  '/workspaces?label=team%3Dsales',
  '/workspaces?needs=records',
  '/workspaces?sort=address&page=7',
  '/workspaces?sort=since&page=100',
  '/workspaces?sort=due&page=200',
] as const;
