import type { FleetStatements } from '../database/fleet-database.ts';
import { FLEET_SCHEMA } from '../database/fleet-tables.ts';

const TABLE = `${FLEET_SCHEMA}.trends`;
const THIS_HOUR = 'to_timestamp(floor(extract(epoch FROM now()) / 3600) * 3600)';
/** Rows per hour, so that processes that end runs at once rarely wait for each other. */
const SHARDS = 16;

/** Numbers of ended runs. */
interface RunCounts {
  readonly runs: number;
  readonly failed: number;
  /** Runs that found drift. */
  readonly drifted: number;
}

/** Adds to the counts of this hour. The row stays locked until the transaction ends. */
export async function countRuns({ ask }: FleetStatements, { runs, failed, drifted }: RunCounts): Promise<void> {
  await ask(
    `INSERT INTO ${TABLE} AS t (at, shard, runs, failed, drifted) VALUES (${THIS_HOUR}, pg_backend_pid() % ${SHARDS}, $1, $2, $3)
ON CONFLICT (at, shard) DO UPDATE SET runs = t.runs + excluded.runs, failed = t.failed + excluded.failed, drifted = t.drifted + excluded.drifted`,
    runs,
    failed,
    drifted,
  );
}

/** The last 24 hours, the current one last. */
export async function lastDay({ ask }: FleetStatements): Promise<readonly RunCounts[]> {
  const rows = await ask(
    `SELECT coalesce(sum(runs), 0)::integer AS runs, coalesce(sum(failed), 0)::integer AS failed, coalesce(sum(drifted), 0)::integer AS drifted
FROM generate_series(23, 0, -1) AS ago LEFT JOIN ${TABLE} ON at = ${THIS_HOUR} - ago * interval '1 hour'
GROUP BY ago ORDER BY ago DESC`,
  );
  return rows as readonly unknown[] as readonly RunCounts[];
}

export async function removeOldTrends({ ask }: FleetStatements): Promise<void> {
  await ask(`DELETE FROM ${TABLE} WHERE at < now() - interval '2 days'`);
}
