import { getConstructionPlans, getMigrationPlans } from 'pg-boss';
import { UserError } from '../../problems/user-error.ts';
import type { FleetDatabase, FleetStatements } from './fleet-database.ts';
import { FLEET_SCHEMA, grants, QUEUE_SCHEMA } from './fleet-tables.ts';

/** The name of the queue in pg-boss. */
export const QUEUE = 'runs';
/** The condition for a job that no process runs. */
const WAITS = `name = '${QUEUE}' AND state < 'active'`;

/** The script for a user with more rights than `role`. @param version the existing version of the tables; 0 for none. */
export function queueScript(role: string, version: number): string {
  const isOld = version > 0 && version < ownVersion();
  const plans = isOld
    ? getMigrationPlans(QUEUE_SCHEMA, version)
    : version > 0
      ? ''
      : getConstructionPlans(QUEUE_SCHEMA);
  return `${plans}\n${grants(QUEUE_SCHEMA, role)}`;
}

/** The version of this pg-boss's tables. */
function ownVersion(): number {
  return Number(/version\(version\) VALUES \('(\d+)'\)/.exec(getConstructionPlans(QUEUE_SCHEMA))?.[1]);
}

/** The version of the tables; 0 for none. @throws UserError if they belong to a later pg-boss or to something else. */
export async function queueVersion({ ask, location }: FleetDatabase): Promise<number> {
  const [found] = await ask(
    `SELECT to_regclass('${QUEUE_SCHEMA}.version') IS NOT NULL AS has_version, to_regclass('${QUEUE_SCHEMA}.job') IS NOT NULL AS has_job`,
  );
  if (found?.has_version !== true) {
    if (found?.has_job !== true) return 0;
    throw new UserError(`the schema ${QUEUE_SCHEMA} of ${location} has tables that do not belong to a queue: job`, {
      hint: 'Use another database, or drop the schema if nothing needs it. Nothing was changed.',
    });
  }
  const [row] = await ask(`SELECT version FROM ${QUEUE_SCHEMA}.version`);
  if (Number(row?.version) <= ownVersion()) return Number(row?.version);
  throw new UserError(
    `the schema ${QUEUE_SCHEMA} of ${location} has version ${row?.version}; this voxform supports ${ownVersion()}`,
    { hint: 'Upgrade voxform.' },
  );
}

/** Seconds since the oldest waiting job was due; 0 without one. */
export async function queuedLateness({ ask }: FleetStatements): Promise<number> {
  const [found] = await ask(`SELECT to_regclass('${QUEUE_SCHEMA}.job') IS NOT NULL AS has_job`);
  // No process has served the fleet yet.
  if (found?.has_job !== true) return 0;
  const [row] = await ask(`SELECT extract(epoch FROM now() - min((j.data->>'due')::timestamptz))::float8 AS lateness
FROM ${QUEUE_SCHEMA}.job j JOIN ${FLEET_SCHEMA}.workspaces w ON w.address = j.singleton_key
WHERE ${WAITS} AND w.paused_at IS NULL AND w.vanished_at IS NULL`);
  return Math.max(0, Number(row?.lateness ?? 0));
}

/** The groups of queued jobs that contain one of these. */
export async function queuedGroups({ ask }: FleetStatements, named: readonly string[]): Promise<string[]> {
  const rows = await ask(
    `SELECT DISTINCT group_id FROM ${QUEUE_SCHEMA}.job WHERE ${WAITS} AND string_to_array(group_id, ' ') && $1::text[]`,
    named,
  );
  return rows.map(({ group_id }) => String(group_id));
}
