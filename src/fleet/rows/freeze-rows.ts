import type { FleetStatements } from '../database/fleet-database.ts';
import { FLEET_SCHEMA } from '../database/fleet-tables.ts';
import { IS_DEAD } from './process-rows.ts';

/** A freeze of the fleet. Until it ends, no process writes to a platform. */
export interface Freeze {
  /** The start of the freeze in ISO 8601. */
  readonly at: string;
  readonly by: string;
  readonly because: string;
}

/** A freeze with its end, if it has ended. */
export interface ListedFreeze {
  readonly at: Date;
  readonly by: string;
  readonly because: string;
  readonly endedAt: Date | null;
  readonly endedBy: string | null;
}

const S = FLEET_SCHEMA;

export async function currentFreeze({ query }: FleetStatements): Promise<Freeze | undefined> {
  const [row] = await query(`SELECT at, by, because FROM ${S}.freezes WHERE ended_at IS NULL`);
  return row && { at: (row.at as Date).toISOString(), by: String(row.by), because: String(row.because) };
}

/** Returns the current and earlier freezes, newest first. */
export async function latestFreezes({ query }: FleetStatements, limit: number): Promise<readonly ListedFreeze[]> {
  const rows = await query(
    `SELECT at, by, because, ended_at AS "endedAt", ended_by AS "endedBy" FROM ${S}.freezes ORDER BY id DESC LIMIT $1`,
    limit,
  );
  return rows as readonly unknown[] as readonly ListedFreeze[];
}

/** Freezes the fleet. Returns false if the fleet was already frozen. */
export async function startFreeze(
  { query }: FleetStatements,
  { by, because }: Pick<Freeze, 'by' | 'because'>,
): Promise<boolean> {
  const rows = await query(
    `INSERT INTO ${S}.freezes (by, because) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING id`,
    by,
    because,
  );
  return rows.length > 0;
}

/**
 * Ends the freeze. Every workspace whose changes the freeze held back becomes due; if the freeze blocked a run that is still in progress,
 * the workspace becomes due when the run ends. Returns false if the fleet was not frozen.
 */
export async function endFreeze({ query }: FleetStatements, by: string): Promise<boolean> {
  const rows = await query(
    `WITH ended AS (UPDATE ${S}.freezes SET ended_at = now(), ended_by = $1 WHERE ended_at IS NULL RETURNING id),
held AS (SELECT address FROM ${S}.workspaces WHERE last->>'hold' = 'frozen' ORDER BY address FOR UPDATE),
due AS (UPDATE ${S}.workspaces SET due_at = least(due_at, now()) WHERE EXISTS (SELECT FROM ended) AND address IN (SELECT address FROM held))
SELECT id FROM ended`,
    by,
  );
  return rows.length > 0;
}

/** The start or the end of a freeze. */
interface FreezeEvent {
  /** The id of the freeze. */
  readonly id: string;
  readonly event: 'frozen' | 'resumed';
  readonly at: Date;
  readonly by: string;
  readonly because: string;
}

/** The SQL expression for the last event of a freeze. */
const LAST_EVENT = `CASE WHEN ended_at IS NULL THEN 'frozen' ELSE 'resumed' END`;

/** Returns the SQL condition that a live process is sending the notifications of an event. */
const isBeingReported = (event: string): string =>
  `EXISTS (SELECT FROM ${S}.processes p WHERE NOT (${IS_DEAD}) AND reporting = ${event} || ' ' || p.id)`;

/**
 * Assigns to a process the freeze events whose notifications were not delivered, oldest first, except those that another live process is
 * sending. The caller must send them, and then call `storeReportedFreeze`.
 */
export async function takeFreezeEvents({ query }: FleetStatements, process: string): Promise<readonly FreezeEvent[]> {
  const rows = await query(
    `WITH news AS (SELECT *, ${isBeingReported("'frozen'")} AS is_begun FROM ${S}.freezes
  WHERE reported IS DISTINCT FROM ${LAST_EVENT} AND NOT ${isBeingReported(LAST_EVENT)} FOR UPDATE),
taken AS (UPDATE ${S}.freezes SET reporting = CASE WHEN news.ended_at IS NULL THEN 'frozen ' ELSE 'resumed ' END || $1
  FROM news WHERE news.id = freezes.id)
SELECT id::text, 'frozen' AS event, at, by, because FROM news WHERE reported IS NULL AND NOT is_begun
UNION ALL SELECT id::text, 'resumed', ended_at, ended_by, because FROM news WHERE ended_at IS NOT NULL ORDER BY at`,
    process,
  );
  return rows as readonly unknown[] as readonly FreezeEvent[];
}

/** Stores that the notifications of an event were delivered, so that no process sends them again. */
export async function storeReportedFreeze(
  { query }: FleetStatements,
  { id, event }: Pick<FreezeEvent, 'id' | 'event'>,
): Promise<void> {
  await query(
    `UPDATE ${S}.freezes SET reported = $2 WHERE id = $1::bigint AND reported IS DISTINCT FROM 'resumed'`,
    id,
    event,
  );
}
