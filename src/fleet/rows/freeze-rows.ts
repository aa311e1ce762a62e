import type { FleetStatements } from '../database/fleet-database.ts';
import { FLEET_SCHEMA } from '../database/fleet-tables.ts';

/** While a fleet is frozen, none of its processes writes to a platform. */
export interface Freeze {
  /** ISO 8601. */
  readonly at: string;
  readonly by: string;
  readonly because: string;
}

const S = FLEET_SCHEMA;

/** The address of runs that concern every workspace. A row for each would delay a freeze. */
export const ALL_WORKSPACES = '';

/** The freeze of the fleet, if any. */
export async function currentFreeze({ ask }: FleetStatements): Promise<Freeze | undefined> {
  const [row] = await ask(`SELECT at, by, because FROM ${S}.freezes WHERE ended_at IS NULL`);
  return row && { at: (row.at as Date).toISOString(), by: String(row.by), because: String(row.because) };
}

const ADD_RUN = `INSERT INTO ${S}.runs (address, started_at, seconds, mode, result, who, process, summary)
  SELECT '${ALL_WORKSPACES}', now(), 0, ''`;

/** Freezes the fleet, and adds that to the runs of all workspaces. Returns false if it was frozen already. */
export async function enterFreeze(
  { ask }: FleetStatements,
  { by, because }: Pick<Freeze, 'by' | 'because'>,
): Promise<boolean> {
  const rows = await ask(
    `WITH entered AS (INSERT INTO ${S}.freezes (by, because) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING id)
${ADD_RUN}, 'frozen', $1, '', json_build_object('because', $2::text) FROM entered RETURNING id`,
    by,
    because,
  );
  return rows.length > 0;
}

/**
 * Ends the freeze, and makes the workspaces due whose changes it held. A run in progress under the freeze becomes due when it ends.
 * Returns false if there was none.
 */
export async function endFreeze({ ask }: FleetStatements, by: string): Promise<boolean> {
  const rows = await ask(
    `WITH ended AS (UPDATE ${S}.freezes SET ended_at = now(), ended_by = $1 WHERE ended_at IS NULL RETURNING id),
held AS (SELECT address FROM ${S}.workspaces WHERE last->>'hold' = 'frozen' ORDER BY address FOR UPDATE),
due AS (UPDATE ${S}.workspaces SET due_at = least(due_at, now()) WHERE EXISTS (SELECT FROM ended) AND address IN (SELECT address FROM held))
${ADD_RUN}, 'unfrozen', $1, '', '{}' FROM ended RETURNING id`,
    by,
  );
  return rows.length > 0;
}

/** A beginning or an end of a freeze. */
interface FreezeNews {
  readonly event: 'frozen' | 'resumed';
  readonly at: Date;
  readonly by: string;
  readonly because: string;
}

const NOW = `CASE WHEN ended_at IS NULL THEN 'frozen' ELSE 'resumed' END`;

/** What no process has taken yet to tell it, oldest first. */
export async function takeFreezeNews({ ask }: FleetStatements): Promise<readonly FreezeNews[]> {
  const rows = await ask(
    `WITH news AS (SELECT * FROM ${S}.freezes WHERE told IS DISTINCT FROM ${NOW} FOR UPDATE),
taken AS (UPDATE ${S}.freezes SET told = CASE WHEN news.ended_at IS NULL THEN 'frozen' ELSE 'resumed' END
  FROM news WHERE news.id = freezes.id)
SELECT 'frozen' AS event, at, by, because FROM news WHERE told IS NULL
UNION ALL SELECT 'resumed', ended_at, ended_by, because FROM news WHERE ended_at IS NOT NULL ORDER BY at`,
  );
  return rows as readonly unknown[] as readonly FreezeNews[];
}
