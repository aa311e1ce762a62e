import type { FleetStatements } from '../database/fleet-database.ts';
import { storableJson } from '../database/fleet-database.ts';
import { FLEET_SCHEMA } from '../database/fleet-tables.ts';

export interface ServingProcess {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  readonly version: string;
  readonly slots: number;
  /** The identity of each source in the process's fleet file, by source name. */
  readonly sources: Readonly<Record<string, string>>;
}

interface ProcessHeartbeat {
  readonly isEnding: boolean;
  readonly runs: readonly { readonly address: string; readonly since: string }[];
}

/** The SQL condition for a process without heartbeats. */
export const IS_DEAD = "heard_at < now() - interval '60 seconds'";

const S = FLEET_SCHEMA;

/** Stores a heartbeat of a process with its current runs. Removes processes that sent no heartbeat for a day. */
export async function storeHeartbeat(
  { query }: FleetStatements,
  { id, host, pid, version, slots, sources }: ServingProcess,
  { isEnding, runs }: ProcessHeartbeat,
): Promise<void> {
  await query(
    `WITH gone AS (DELETE FROM ${S}.processes WHERE heard_at < now() - interval '1 day' AND id <> $1)
INSERT INTO ${S}.processes (id, host, pid, version, slots, ending, runs, sources) VALUES ($1, $2, $3, $4, $5, $6, $7::json, $8::json)
ON CONFLICT (id) DO UPDATE SET heard_at = now(), ending = excluded.ending, runs = excluded.runs`,
    id,
    host,
    pid,
    version,
    slots,
    isEnding,
    JSON.stringify(runs),
    storableJson(sources),
  );
}

/** Removes all processes. Used for the embedded database, which only one process can open. */
export async function removeProcesses({ query }: FleetStatements): Promise<void> {
  await query(`DELETE FROM ${S}.processes`);
}

export async function removeProcess({ query }: FleetStatements, id: string): Promise<void> {
  await query(`DELETE FROM ${S}.processes WHERE id = $1`, id);
}

/** The maximum number of rows per statement, so that no statement holds locks for long. Plans and pull requests have large documents. */
const BATCH_SIZES = { runs: 1000, freezes: 1000, plans: 100, pulls: 100 } as const;

/** Removes old runs, plans, freezes and closed pull requests. @param retention the milliseconds for which they are kept. */
export async function removeExpiredRows(statements: FleetStatements, retention: number): Promise<void> {
  await removeInBatches(statements, 'runs', { end: 'started_at', isEnded: 'true' }, retention);
  await removeInBatches(statements, 'freezes', { end: 'ended_at', isEnded: 'true' }, retention);
  const isEnded = "state IN ('rejected', 'stale', 'applied')";
  await removeInBatches(statements, 'plans', { end: 'coalesce(decided_at, made_at)', isEnded }, retention);
  await removeInBatches(statements, 'pulls', { end: 'since', isEnded: "state <> 'open'" }, retention);
}

async function removeInBatches(
  { query }: FleetStatements,
  table: keyof typeof BATCH_SIZES,
  { end, isEnded }: { readonly end: string; readonly isEnded: string },
  retention: number,
): Promise<void> {
  const size = BATCH_SIZES[table];
  // The order makes PostgreSQL read the index by time. Otherwise each batch may read the whole table to find its rows.
  const batch = `SELECT ctid FROM ${S}.${table} WHERE ${isEnded} AND ${end} < now() - $1 * interval '1 millisecond'
ORDER BY ${end} LIMIT ${size} FOR UPDATE SKIP LOCKED`;
  const removal = `WITH removed AS (DELETE FROM ${S}.${table} WHERE ctid = ANY (ARRAY(${batch})) RETURNING 1)
SELECT count(*)::int AS count FROM removed`;
  for (let count: number = size; count === size; ) {
    const [row] = await query(removal, retention);
    count = Number(row?.count ?? 0);
  }
}
