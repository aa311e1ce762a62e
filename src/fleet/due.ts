import type { FleetDatabase } from './database/fleet-database.ts';
import { FLEET_SCHEMA } from './database/fleet-tables.ts';
import type { Queue } from './queue.ts';
import { groupsOf } from './slots.ts';

/** The maximum number of workspaces per query. */
const MOST_AT_ONCE = 500;
/** The part of an interval by which a run may be earlier or later, so that runs spread out. */
const SPREAD = 0.1;

/**
 * Queues the due workspaces of these sources and sets their next times, in one transaction, so that a workspace runs again whatever
 * happens to the job. Returns their number.
 */
export function scheduleDue(
  database: FleetDatabase,
  queue: Queue,
  sources: readonly string[],
): Promise<number> {
  return database.atomically(async (statements) => {
    const rows = await statements.ask(
      `WITH due AS (SELECT address, due_at FROM ${FLEET_SCHEMA}.workspaces
  WHERE due_at <= now() AND paused_at IS NULL AND vanished_at IS NULL AND source = ANY ($1::text[])
  ORDER BY due_at LIMIT ${MOST_AT_ONCE} FOR UPDATE SKIP LOCKED)
UPDATE ${FLEET_SCHEMA}.workspaces w
SET due_at = now() + w.interval_ms * (${1 - SPREAD} + ${2 * SPREAD} * random()) * interval '1 millisecond'
FROM due WHERE w.address = due.address
RETURNING w.address, w.source, w.project, w.base_url, w.asked_at IS NOT NULL AS urgent, due.due_at AS due`,
      sources,
    );
    const runs = rows.map(({ address, source, project, base_url, urgent, due }) => ({
      address: String(address),
      groups: groupsOf({
        source: String(source),
        project: String(project),
        baseUrl: base_url === null ? undefined : String(base_url),
      }),
      isUrgent: urgent === true,
      due: (due as Date).toISOString(),
    }));
    await queue.put(
      runs.sort((one, other) => Date.parse(one.due) - Date.parse(other.due)),
      statements,
    );
    return runs.length;
  });
}
