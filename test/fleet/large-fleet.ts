import type { FleetDatabase } from '../../src/fleet/database/fleet-database.ts';
import { setUpTables } from '../../src/fleet/database/set-up-tables.ts';

const SOURCES = 20;
/** Rows per statement, so that no statement reaches the time limit of the database. */
const AT_ONCE = 20_000;

/** Returns SQL for the address of workspace `n`. The first source has a fifth of all workspaces, later ones fewer. */
const addressIn = (all: number) => `format('source-%s/clients/client-%s:%s',
  lpad((1 + floor(${SOURCES} * power((n - 1)::float8 / ${all}, 2)))::text, 2, '0'), (n + 1) / 2, CASE n % 2 WHEN 0 THEN 'staging' ELSE 'production' END)`;

/**
 * Fills the tables of a fleet as years of runs leave them: 20 sources of different sizes with two workspaces per project, ten runs per
 * workspace within 100 days, an open plan for every tenth workspace, states, search terms, and 2,000 pull requests. Two workspaces of the
 * first source are twins.
 * @param detailed the number of workspaces with runs, plans and the rest.
 */
export async function fillFleet(database: FleetDatabase, workspaces: number, detailed = workspaces): Promise<void> {
  await setUpTables(database);
  await database.query(`INSERT INTO voxform_fleet.sources (name, shown, identity, fetched_at, next_fetch)
SELECT 'source-' || lpad(k::text, 2, '0'), 'main of https://git.example.com/voices-' || k, 'git ' || k, now(), now() + interval '1 hour'
FROM generate_series(1, ${SOURCES}) AS k;
INSERT INTO voxform_fleet.processes (id, host, pid, version, slots, sources)
SELECT 'process-' || k, 'host-' || k, k, '0', 8, '{}' FROM generate_series(1, 3) AS k`);
  for (let first = 1; first <= workspaces; first += AT_ONCE) {
    const upTo = (last: number) => `(SELECT n, ${addressIn(workspaces)} AS address
  FROM generate_series(${first}, ${Math.min(last, first + AT_ONCE - 1)}) AS n OFFSET 0) AS f`;
    await database.query(WORKSPACES(upTo(workspaces)));
    for (const rows of [RUNS, PLANS, TERMS, STATES, DOCUMENTS])
      await database.query(`SET LOCAL session_replication_role = replica; ${rows(upTo(detailed))}`);
  }
  await database.query(PULLS);
  await database.query(`UPDATE voxform_fleet.workspaces SET workspace_id = 'id-1', base_url = 'https://region-1.example.com/api'
WHERE project = 'clients/client-2' AND workspace = 'production'`);
  for (const table of ['workspaces', 'runs', 'plans', 'search_terms', 'states', 'documents', 'pulls', 'pull_plans'])
    await database.query(`VACUUM ANALYZE voxform_fleet.${table}`);
}

/** Of 200 workspaces: 166 in sync, 20 waiting, 6 pending, 4 drifted, 2 failed, 1 invalid, 1 never run; some are stale, paused or removed. */
const WORKSPACES = (
  batch: string,
) => `INSERT INTO voxform_fleet.workspaces (address, source, project, workspace, workspace_id, base_url,
  mode, interval_ms, version, commit, good_version, due_at, status, status_since, checked_at, checked_before, last, paused_at, paused_by, vanished_at)
SELECT address, split_part(address, '/', 1), split_part(split_part(address, ':', 1), '/', 2) || '/client-' || (n + 1) / 2, split_part(address, ':', 2),
  'id-' || n, 'https://region-' || n % 3 + 1 || '.example.com/api', (ARRAY['report', 'apply', 'apply', 'approve'])[1 + n % 4],
  (ARRAY[3600000, 3600000, 3600000, 21600000, 86400000])[1 + n % 5], md5((n / 40)::text), md5((n / 5000)::text), md5((n / 40)::text),
  now() + random() * interval '1 hour' - interval '1 second', status, now() - random() * interval '90 days',
  CASE WHEN status <> 'never-run' THEN checked END, checked - interval '5 minutes',
  CASE WHEN status = 'never-run' THEN NULL ELSE jsonb_strip_nulls(jsonb_build_object('result', CASE WHEN n % 500 = 1 THEN 'refused' WHEN status = 'failed' THEN 'failed' ELSE 'ok' END,
    'seconds', 1.234, 'commit', md5((n / 5000)::text), 'problems', '[]'::jsonb,
    'error', CASE status WHEN 'failed' THEN repeat('GET /api/v1/agents: 503 ', 5) END,
    'labels', jsonb_build_array('team=team-' || n % 500, 'stage=' || split_part(address, ':', 2)),
    'records', 3, 'applied', '{}'::jsonb, 'at_risk', CASE n % 5000 WHEN 7 THEN 1 ELSE 0 END, 'manual_steps', CASE n % 300 WHEN 9 THEN 1 ELSE 0 END,
    'orphans', CASE n % 400 WHEN 11 THEN 2 ELSE 0 END, 'counts', '{"noop": 3}'::jsonb, 'unknown', '[]'::jsonb,
    'drift', CASE status WHEN 'drifted' THEN '["Agent/a"]'::jsonb ELSE '[]'::jsonb END, 'missing', '[]'::jsonb)) END,
  CASE n % 101 WHEN 5 THEN now() - random() * interval '30 days' END, CASE n % 101 WHEN 5 THEN 'ann' END,
  CASE n % 199 WHEN 17 THEN now() - random() * interval '30 days' END
FROM (SELECT n, address, CASE WHEN n % 10 = 3 THEN 'waiting' WHEN n % 100 IN (1, 24, 51) THEN 'pending' WHEN n % 100 IN (2, 57) THEN 'drifted'
  WHEN n % 100 = 4 THEN 'failed' WHEN n % 200 = 6 THEN 'invalid' WHEN n % 200 = 8 THEN 'never-run' ELSE 'in-sync' END AS status,
  CASE WHEN n % 211 = 0 THEN now() - interval '5 days' ELSE now() - random() * interval '4 minutes' END AS checked FROM ${batch}) AS s
ORDER BY address`;

const RUNS = (
  batch: string,
) => `INSERT INTO voxform_fleet.runs (address, started_at, seconds, mode, result, why, commit, process, summary)
SELECT address, now() - (random() * 10 + nth * 10) * interval '1 day', 1.5, 'apply', CASE WHEN nth = 3 THEN 'failed' ELSE 'ok' END, 'changed',
  md5((n / 5000)::text), 'process-1', json_build_object('result', 'ok', 'seconds', 1.5, 'records', 3, 'applied', json_build_object('update', 1), 'drift', json_build_array())
FROM ${batch}, generate_series(9, 0, -1) AS nth`;

/** Open plans, and as many decided ones. */
const PLANS = (
  batch: string,
) => `INSERT INTO voxform_fleet.plans (address, id, digest, plan, made_at, state, decided_by, decided_at)
SELECT address, id, md5(address || id), json_build_object('state', json_build_object('lineage', md5(address), 'salt', md5(address), 'serial', 3),
    'resources', (SELECT json_agg(json_build_object('address', 'Agent/agent-' || k, 'action', 'update', 'id', md5(address || k), 'reason', 'the manifest changed')) FROM generate_series(1, 3) AS k)),
  now() - age, state, CASE state WHEN 'applied' THEN 'ann' END, CASE state WHEN 'applied' THEN now() - age END
FROM (SELECT address, random() * interval '1 day' AS age, left(md5(address), 12) AS id, 'waiting' AS state FROM ${batch} WHERE n % 10 = 3
UNION ALL SELECT address, random() * interval '100 days', left(md5(address || 'old'), 12), 'applied' FROM ${batch} WHERE n % 10 = 4) AS p`;

const TERMS = (batch: string) => `INSERT INTO voxform_fleet.search_terms (address, resource, term)
SELECT address, '', unnest(ARRAY[address, substring(address FROM 8), substring(address FROM 11), substring(address FROM '/(client-.*)'),
  substring(address FROM 'client-(.*)'), split_part(address, ':', 2)]) FROM ${batch}
UNION ALL SELECT address, 'Agent/support-line', unnest(ARRAY['support-line-' || n, 'line-' || n, n::text, '01j' || left(md5(n::text), 23)]) FROM ${batch}
UNION ALL SELECT address, 'PhoneNumber/front-desk', unnest(ARRAY['49' || lpad(n::text, 9, '3'), '9' || lpad(n::text, 9, '3'), lpad(n::text, 9, '3')]) FROM ${batch}
ON CONFLICT DO NOTHING`;

const STATES = (batch: string) => `INSERT INTO voxform_fleet.states (name, write, generation, state)
SELECT address, md5(address), md5(address), format('{"version": 1, "serial": 3, "lineage": "%s", "orphans": [], "resources": {"Agent/support-line": {"id": "%s",
  "recorded": {"name": "Support line %s"}, "observed": {}, "unobserved": []}}, "workspace_id": "id-%s"}', md5(address), md5(n::text), n, n) FROM ${batch}`;

const DOCUMENTS = (batch: string) => `INSERT INTO voxform_fleet.documents (address, kind, digest, document)
SELECT address, 'search-terms', md5(address), NULL FROM ${batch}
UNION ALL SELECT address, 'drift-request', NULL, json '{"kept":{"is":"open"}}' FROM ${batch} WHERE n % 100 = 2
UNION ALL SELECT address, 'remaining-plan', md5(address), json_build_object('state', json_build_object('lineage', md5(address), 'salt', md5(address), 'serial', 3), 'resources',
  (SELECT json_agg(json_build_object('address', 'Agent/agent-' || k, 'action', 'update', 'id', md5(address || k), 'reason', 'the manifest changed')) FROM generate_series(1, 3) AS k))
  FROM ${batch} WHERE n % 10 = 3 OR n % 100 IN (1, 2, 24, 51, 57)`;

const PULLS = `INSERT INTO voxform_fleet.pulls (source, number, url, title, author, base, branch, head, is_fork, state, planned_head, planned_at, since)
SELECT 'source-01', k, 'https://git.example.com/voices-1/pull/' || k, 'Change ' || k, 'ann', 'main', 'change-' || k, md5(k::text), false,
  CASE WHEN k % 20 = 0 THEN 'open' ELSE 'merged' END, md5(k::text), now(), now() - random() * interval '80 days' FROM generate_series(1, 2000) AS k;
INSERT INTO voxform_fleet.pull_plans (source, number, address, head, result, digest, details)
SELECT 'source-01', k, address, md5(k::text), 'changes', md5(address), '{"notes":[]}' FROM generate_series(1, 2000) AS k,
  LATERAL (SELECT address FROM voxform_fleet.workspaces WHERE source = 'source-01' ORDER BY address LIMIT 5) AS w`;

/** The lists of the fleet's page, in every order and with every filter. */
export const largeLists = [
  '/',
  '/workspaces',
  '/workspaces?page=200',
  '/workspaces?sort=address&page=200',
  '/workspaces?sort=since&page=200',
  '/workspaces?sort=due',
  '/workspaces?status=failed&page=10',
  '/workspaces?status=in-sync&page=200',
  '/workspaces?status=stale',
  '/workspaces?needs=records',
  '/workspaces?needs=steps&page=2',
  '/workspaces?source=source-20',
  '/workspaces?label=team%3Dteam-7',
  '/workspaces?q=client-99',
  '/workspaces?q=client&status=failed',
  '/search?q=client-99',
  '/search?q=line-77',
  '/search?q=01J0',
  '/search?q=%2B49+333',
  '/workspaces/source-01/clients/client-5:production',
  '/pulls',
  '/pulls/source-01/20',
  '/api/v1/overview',
  '/api/v1/search?q=client-99',
  '/api/v1/workspaces?limit=200',
  '/api/v1/workspaces?limit=200&page=50',
  '/api/v1/workspaces?status=waiting&limit=200',
  '/api/v1/workspaces/source-01/clients/client-5:production/runs',
  '/api/v1/pulls',
] as const;
