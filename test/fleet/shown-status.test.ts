import { expect, it } from 'vitest';
import { fleetDatabaseAt } from '../../src/fleet/database/fleet-database.ts';
import { setUpTables } from '../../src/fleet/database/set-up-tables.ts';
import { pageOfWorkspaces } from '../../src/fleet/rows/page-rows.ts';
import { fleetFigures, shownWorkspaces } from '../../src/fleet/rows/status-rows.ts';
import { hasNeed, lastRunOf } from '../../src/operator/last-run.ts';
import { needs, workspaceStatuses } from '../../src/operator/workspace-status.ts';
import { freshDatabase } from '../state/backends/postgres/databases.ts';

it('finds and counts workspaces by the status and the required actions that each of them shows', async () => {
  const database = fleetDatabaseAt((await freshDatabase()).url);
  await setUpTables(database);
  await database.query(`INSERT INTO voxform_fleet.workspaces
  (address, source, project, workspace, mode, interval_ms, version, due_at, status, checked_at, checked_before, paused_at, paused_by, vanished_at, last)
SELECT concat_ws('-', status, age, paused, vanished, found), 'voices', 'p', 'w', 'apply', 30000, 'v', now(), status,
  now() - age * interval '1 second', now() - coalesce(age, 0) * interval '1 second', CASE WHEN paused THEN now() END, CASE WHEN paused THEN 'ann' END,
  CASE WHEN vanished THEN now() END, (ARRAY['{}', '{"at_risk": 1}', '{"counts": {"unknown": 1}}',
    '{"missing": [{"address": "Agent/a"}]}', '{"result": "refused"}', '{"manual_steps": 1}', '{"orphans": 1}'])[found]::jsonb
FROM unnest(ARRAY['failed', 'invalid', 'waiting', 'drifted', 'pending', 'in-sync', 'never-run']) AS status,
  unnest(ARRAY[NULL, 60, 120]) AS age, unnest(ARRAY[true, false]) AS paused, unnest(ARRAY[true, false]) AS vanished,
  generate_series(1, 7) AS found WHERE (status <> 'never-run') = (age IS NOT NULL) OR status IN ('failed', 'invalid')`);
  const all = await shownWorkspaces(database);
  const { counts } = await fleetFigures(database);
  const addressesOf = (some: readonly { readonly address: string }[]) => some.map(({ address }) => address).sort();
  for (const status of workspaceStatuses) {
    const those = all.filter((each) => each.status === status);
    expect(those.length, status).toBeGreaterThan(0);
    expect(counts[status], status).toBe(those.length);
    const found = await shownWorkspaces(database, { statuses: [status] });
    expect(addressesOf(found), status).toEqual(addressesOf(those));
  }
  const any = { status: undefined, source: undefined, label: undefined, word: undefined };
  for (const need of needs) {
    const those = all.filter(({ last, status }) => hasNeed(need, lastRunOf(last), status));
    expect(those.length, need).toBeGreaterThan(0);
    const page = { ...any, needs: need, order: 'address', offset: 0, limit: 1000 } as const;
    expect(addressesOf((await pageOfWorkspaces(database, page)).rows), need).toEqual(addressesOf(those));
  }
});
