import type { RequestMemory } from '../../operator/run-report.ts';
import type { Mode } from '../../operator/workspace-status.ts';
import type { UserError } from '../../problems/user-error.ts';
import type { DatabaseRow } from '../../state/backends/postgres/database.ts';
import type { FreshState } from '../../state/state.ts';
import type { ResourceEntry, StateDocument } from '../../state/state-document.ts';
import type { FleetStatements } from '../database/fleet-database.ts';
import { FLEET_SCHEMA } from '../database/fleet-tables.ts';
import type { FleetMember } from '../member.ts';
import type { ClaimedJob, QueuedRun } from '../queue.ts';
import { groupsOf } from '../slots.ts';
import { conflictColumns, conflictOf } from './claim-rows.ts';
import { joinDocument } from './document-rows.ts';

export type RequestReason = 'changed' | 'requested' | 'approved';

/** The stored data of a workspace that a run needs. */
export interface RunRow extends Omit<FleetMember, 'workspaceId' | 'refused'> {
  /** The last version with valid manifests. */
  readonly good: { readonly version: string; readonly commit: string | undefined } | undefined;
  readonly failures: number;
  /** The request for this run; undefined for a scheduled run. */
  readonly asked: { readonly why: RequestReason; readonly by: string | undefined } | undefined;
  readonly approved: { readonly id: string; readonly digest: string; readonly by: string } | undefined;
  /** The reason why the workspace must not run, if any. */
  readonly conflict: UserError | undefined;
  /** The id of the pending or approved plan. */
  readonly openPlan: string | undefined;
  /** True if a freeze prevented the last run from writing. */
  readonly isHeldByFreeze: boolean;
  readonly rejected: readonly string[];
  /** The digest of the stored plan of the remaining actions. */
  readonly remainingDigest: string | undefined;
  /** The digest of the summary of a state outside the fleet's database. */
  readonly externalDigest: string | undefined;
  /** The lineage and salt for the first state, if the current plan was made before a state existed. They keep the plan valid. */
  readonly fresh: FreshState | undefined;
  /** The records that were missing in the last run, and the time since which each record has been missing. */
  readonly missing: readonly {
    readonly address: string;
    readonly id: string | null;
    readonly since: string;
  }[];
  /** Stored data about the drift request. */
  readonly request: RequestMemory | undefined;
  readonly searchDigest: string | undefined;
  /** The time at which the row was read, as the text of a database timestamp. */
  readonly readAt: string;
  /** Seconds since the run was due. */
  readonly lateness: number;
}

const S = FLEET_SCHEMA;

export interface ExternalState extends Pick<StateDocument, 'orphans'> {
  /** The location of the state in messages. */
  readonly location: string;
  readonly resources: Readonly<Record<string, Pick<ResourceEntry, 'id'>>>;
}

/** Returns the workspaces of jobs by address, without paused and removed workspaces. */
export async function rowsToRun(
  { query }: FleetStatements,
  jobs: readonly ClaimedJob[],
): Promise<ReadonlyMap<string, RunRow>> {
  const rows = await query(
    `SELECT w.*, now()::text AS read_at, w.last->'missing' AS missing, w.last->>'hold' AS hold,
  extract(epoch FROM now() - j.due)::float8 AS lateness, p.id AS plan_id, p.digest, p.state AS plan_state,
  ${conflictColumns({ address: 'w.address', workspaceId: 'w.workspace_id', baseUrl: 'w.base_url' })},
  ARRAY(SELECT r.id FROM ${S}.plans r WHERE r.address = w.address AND r.state = 'rejected') AS rejected, l.digest AS remaining_digest, s.digest AS external_digest,
  p.decided_by, coalesce(p.plan, l.document)->'state' AS planned_state, n.document AS request, t.digest AS search_digest
FROM json_to_recordset($1::json) AS j (address text, due timestamptz)
JOIN ${S}.workspaces w ON w.address = j.address AND w.paused_at IS NULL AND w.vanished_at IS NULL
LEFT JOIN ${S}.plans p ON p.address = w.address AND p.state IN ('waiting', 'approved')
${joinDocument('l', 'remaining-plan')}
${joinDocument('s', 'external-state')}
${joinDocument('n', 'drift-request')}
${joinDocument('t', 'search-terms')}`,
    JSON.stringify(jobs.map(({ address, due }) => ({ address, due }))),
  );
  return new Map(rows.map((row) => [String(row.address), rowOf(row)]));
}

function rowOf(row: DatabaseRow): RunRow {
  const text = (column: string): string | undefined => (row[column] === null ? undefined : String(row[column]));
  const [why, good] = [text('asked_why'), text('good_version')];
  return {
    address: String(row.address),
    source: String(row.source),
    project: String(row.project),
    workspace: String(row.workspace),
    baseUrl: text('base_url'),
    mode: row.mode as Mode,
    interval: Number(row.interval_ms),
    version: String(row.version),
    commit: text('commit'),
    good: good === undefined ? undefined : { version: good, commit: text('good_commit') },
    failures: Number(row.failures),
    asked: why === undefined ? undefined : { why: why as RequestReason, by: text('asked_by') },
    approved:
      row.plan_state !== 'approved'
        ? undefined
        : { id: String(row.plan_id), digest: String(row.digest), by: String(row.decided_by) },
    conflict: conflictOf(String(row.address), row),
    openPlan: text('plan_id'),
    isHeldByFreeze: row.hold === 'frozen',
    rejected: row.rejected as string[],
    remainingDigest: text('remaining_digest'),
    externalDigest: text('external_digest'),
    fresh: freshStateOf(row.planned_state),
    missing: (row.missing ?? []) as RunRow['missing'],
    request: (row.request ?? undefined) as RequestMemory | undefined,
    searchDigest: text('search_digest'),
    readAt: String(row.read_at),
    lateness: Number(row.lateness),
  };
}

/** Returns the lineage and salt of a plan that was made before a state existed. */
function freshStateOf(planned: unknown): FreshState | undefined {
  const state = planned as (FreshState & { readonly serial: number }) | null;
  return state?.serial === 0 ? { lineage: state.lineage, salt: state.salt } : undefined;
}

/** The maximum number of due workspaces that one query returns. */
const BATCH_SIZE = 500;
/** The fraction of an interval by which a run may be earlier or later, so that runs are spread over time. */
const JITTER = 0.1;

/** Returns runs for the due workspaces of these sources, the most overdue first, and sets when the workspaces are due next. */
export async function takeDue({ query }: FleetStatements, sources: readonly string[]): Promise<QueuedRun[]> {
  const rows = await query(
    `WITH due AS (SELECT address, due_at FROM ${S}.workspaces
  WHERE due_at <= now() AND paused_at IS NULL AND vanished_at IS NULL AND source = ANY ($1::text[])
  ORDER BY due_at LIMIT ${BATCH_SIZE} FOR UPDATE SKIP LOCKED)
UPDATE ${S}.workspaces w
SET due_at = now() + w.interval_ms * (${1 - JITTER} + ${2 * JITTER} * random()) * interval '1 millisecond',
  checked_before = coalesce(w.checked_at, now())
FROM due WHERE w.address = due.address
RETURNING w.address, w.source, w.project, w.base_url, w.asked_at IS NOT NULL AS urgent, due.due_at AS due`,
    sources,
  );
  return rows
    .map(({ address, source, project, base_url, urgent, due }) => ({
      address: String(address),
      groups: groupsOf({
        source: String(source),
        project: String(project),
        baseUrl: base_url === null ? undefined : String(base_url),
      }),
      isUrgent: urgent === true,
      due: (due as Date).toISOString(),
    }))
    .sort((one, other) => Date.parse(one.due) - Date.parse(other.due));
}

/** Locks the rows of workspaces until the transaction ends. The fixed order avoids deadlocks. */
export async function lockRows({ query }: FleetStatements, addresses: readonly string[]): Promise<void> {
  await query(`SELECT FROM ${S}.workspaces WHERE address = ANY ($1::text[]) ORDER BY address FOR UPDATE`, addresses);
}
