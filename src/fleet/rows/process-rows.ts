import type { FleetStatements } from '../database/fleet-database.ts';
import { storableJson } from '../database/fleet-database.ts';
import { FLEET_SCHEMA } from '../database/fleet-tables.ts';

export interface ServingProcess {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  readonly version: string;
  readonly slots: number;
  /** The identity of each source, by name. */
  readonly sources: Readonly<Record<string, string>>;
}

interface ProcessBeat {
  readonly isEnding: boolean;
  readonly runs: readonly { readonly address: string; readonly since: string }[];
}

const S = FLEET_SCHEMA;

/** Sends a heartbeat with the current runs. A process that was silent for a day is removed. */
export async function enterProcess(
  { ask }: FleetStatements,
  { id, host, pid, version, slots, sources }: ServingProcess,
  { isEnding, runs }: ProcessBeat,
): Promise<void> {
  await ask(
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

/** Removes earlier processes, of which there can be only one. */
export async function removeProcesses({ ask }: FleetStatements): Promise<void> {
  await ask(`DELETE FROM ${S}.processes`);
}

/** Removes a process that ended properly. */
export async function removeProcess({ ask }: FleetStatements, id: string): Promise<void> {
  await ask(`DELETE FROM ${S}.processes WHERE id = $1`, id);
}

/** Rows of a statement, so that none holds locks for long. */
const BATCH = 5000;

/** Removes runs that are older, and plans and freezes that ended before. Milliseconds. */
export async function removeOldRuns(statements: FleetStatements, retention: number): Promise<void> {
  const before = "now() - $1 * interval '1 millisecond'";
  await removeInBatches(statements, 'runs', { where: `started_at < ${before}`, value: retention });
  await removeInBatches(statements, 'freezes', { where: `ended_at < ${before}`, value: retention });
  await removeInBatches(statements, 'plans', {
    where: `state IN ('rejected', 'stale', 'applied') AND coalesce(decided_at, made_at) < ${before}`,
    value: retention,
  });
}

async function removeInBatches(
  { ask }: FleetStatements,
  table: string,
  { where, value }: { readonly where: string; readonly value: number },
): Promise<void> {
  const some = `SELECT ctid FROM ${S}.${table} WHERE ${where} LIMIT ${BATCH} FOR UPDATE SKIP LOCKED`;
  const removal = `WITH removed AS (DELETE FROM ${S}.${table} WHERE ctid = ANY (ARRAY(${some})) RETURNING 1)
SELECT count(*)::int AS count FROM removed`;
  for (let count = BATCH; count === BATCH; ) {
    const [row] = await ask(removal, value);
    count = Number(row?.count ?? 0);
  }
}
