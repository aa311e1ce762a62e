import type { FleetDatabase } from './database/fleet-database.ts';
import { FLEET_SCHEMA } from './database/fleet-tables.ts';
import type { Queue } from './queue.ts';
import { groupsOf } from './slots.ts';

/** Workspaces that one look puts into the queue. */
const MOST_AT_ONCE = 500;
/** Share of an interval by which a turn may come sooner or later, so that workspaces drift apart. */
const SPREAD = 0.1;

/**
 * Puts the workspaces of these sources that are due into the queue, and says when they are due next, in one transaction: whatever becomes of the job, a
 * workspace comes to its turn again. How many there were.
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
