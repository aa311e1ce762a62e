import { getConstructionPlans, getMigrationPlans } from 'pg-boss';
import { UserError } from '../../problems/user-error.ts';
import type { FleetDatabase, FleetStatements } from './fleet-database.ts';
import { FLEET_SCHEMA, grantStatements, QUEUE_SCHEMA } from './fleet-tables.ts';

/** The name of the queue in pg-boss. */
export const QUEUE = 'runs';
/** The SQL condition for a job that no process runs yet. */
const IS_QUEUED = `name = '${QUEUE}' AND state < 'active'`;

/**
 * Returns the SQL script that creates or migrates the tables of the queue. A user with more rights than `role` must execute it.
 * @param version the version of the existing tables; 0 if there are none.
 */
export function queueScript(role: string, version: number): string {
  const isOld = version > 0 && version < supportedVersion();
  const plans = isOld
    ? getMigrationPlans(QUEUE_SCHEMA, version)
    : version > 0
      ? ''
      : getConstructionPlans(QUEUE_SCHEMA);
  return `${plans}\n${grantStatements(QUEUE_SCHEMA, role)}`;
}

/** Returns the version of the tables that this version of pg-boss uses. */
function supportedVersion(): number {
  return Number(/version\(version\) VALUES \('(\d+)'\)/.exec(getConstructionPlans(QUEUE_SCHEMA))?.[1]);
}

/** Returns the version of the tables; 0 if there are none. @throws UserError if the tables belong to a newer pg-boss or another program. */
export async function queueVersion({ query, location }: FleetDatabase): Promise<number> {
  const [found] = await query(
    `SELECT to_regclass('${QUEUE_SCHEMA}.version') IS NOT NULL AS has_version, to_regclass('${QUEUE_SCHEMA}.job') IS NOT NULL AS has_job`,
  );
  if (found?.has_version !== true) {
    if (found?.has_job !== true) return 0;
    throw new UserError(`the schema ${QUEUE_SCHEMA} of ${location} has tables that do not belong to a queue: job`, {
      hint: 'Use another database, or drop the schema if nothing needs it. Nothing was changed.',
    });
  }
  const [row] = await query(`SELECT version FROM ${QUEUE_SCHEMA}.version`);
  if (Number(row?.version) <= supportedVersion()) return Number(row?.version);
  throw new UserError(
    `the schema ${QUEUE_SCHEMA} of ${location} has version ${row?.version}; this version of voxform supports ${supportedVersion()}`,
    { hint: 'Upgrade voxform.' },
  );
}

/** Returns the seconds since the oldest queued job was due; 0 if there is none. */
export async function queuedLateness({ query }: FleetStatements): Promise<number> {
  const [found] = await query(`SELECT to_regclass('${QUEUE_SCHEMA}.job') IS NOT NULL AS has_job`);
  // The table does not exist until a process has served the fleet.
  if (found?.has_job !== true) return 0;
  const [row] = await query(`SELECT extract(epoch FROM now() - min((j.data->>'due')::timestamptz))::float8 AS lateness
FROM ${QUEUE_SCHEMA}.job j JOIN ${FLEET_SCHEMA}.workspaces w ON w.address = j.singleton_key
WHERE ${IS_QUEUED} AND w.paused_at IS NULL AND w.vanished_at IS NULL`);
  return Math.max(0, Number(row?.lateness ?? 0));
}

/** Returns the pg-boss groups of queued jobs that contain one of these groups. */
export async function queuedGroups({ query }: FleetStatements, groups: readonly string[]): Promise<string[]> {
  const rows = await query(
    `SELECT DISTINCT group_id FROM ${QUEUE_SCHEMA}.job WHERE ${IS_QUEUED} AND string_to_array(group_id, ' ') && $1::text[]`,
    groups,
  );
  return rows.map(({ group_id }) => String(group_id));
}
