import type { FleetStatements } from '../database/fleet-database.ts';
import { FLEET_SCHEMA } from '../database/fleet-tables.ts';

const TABLE = `${FLEET_SCHEMA}.trends`;
/** The SQL expression for the start of the current hour. */
const THIS_HOUR = 'to_timestamp(floor(extract(epoch FROM now()) / 3600) * 3600)';
/** The number of rows per hour. There are several rows, so that processes that store results concurrently rarely wait for each other. */
const SHARDS = 16;

interface RunCounts {
  readonly runs: number;
  readonly failed: number;
  /** Runs that found drift. */
  readonly drifted: number;
}

/** Adds finished runs to the counts of the current hour. Locks a row until the transaction ends. */
export async function addRunCounts({ query }: FleetStatements, { runs, failed, drifted }: RunCounts): Promise<void> {
  await query(
    `INSERT INTO ${TABLE} AS t (at, shard, runs, failed, drifted) VALUES (${THIS_HOUR}, pg_backend_pid() % ${SHARDS}, $1, $2, $3)
ON CONFLICT (at, shard) DO UPDATE SET runs = t.runs + excluded.runs, failed = t.failed + excluded.failed, drifted = t.drifted + excluded.drifted`,
    runs,
    failed,
    drifted,
  );
}

/** Returns the counts of the last 24 hours. The last element is the current hour. */
export async function countsOfLastDay({ query }: FleetStatements): Promise<readonly RunCounts[]> {
  const rows = await query(
    `SELECT coalesce(sum(runs), 0)::integer AS runs, coalesce(sum(failed), 0)::integer AS failed, coalesce(sum(drifted), 0)::integer AS drifted
FROM generate_series(23, 0, -1) AS ago LEFT JOIN ${TABLE} ON at = ${THIS_HOUR} - ago * interval '1 hour'
GROUP BY ago ORDER BY ago DESC`,
  );
  return rows as readonly unknown[] as readonly RunCounts[];
}

export async function removeOldTrends({ query }: FleetStatements): Promise<void> {
  await query(`DELETE FROM ${TABLE} WHERE at < now() - interval '2 days'`);
}
