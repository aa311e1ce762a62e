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

export type AskedWhy = 'changed' | 'requested' | 'approved';

/** A workspace in the form that its run needs. */
export interface RunRow extends Omit<FleetMember, 'workspaceId' | 'refused'> {
  /** The last version with valid manifests. */
  readonly good: { readonly version: string; readonly commit: string | undefined } | undefined;
  readonly failures: number;
  readonly asked: { readonly why: AskedWhy; readonly by: string | undefined } | undefined;
  readonly approved: { readonly id: string; readonly digest: string; readonly by: string } | undefined;
  /** Why it must not run. */
  readonly conflict: UserError | undefined;
  /** The id of the waiting or approved plan. */
  readonly openPlan: string | undefined;
  /** True if the last run was held by a freeze. */
  readonly isHeldByFreeze: boolean;
  /** Ids of rejected plans. */
  readonly rejected: readonly string[];
  /** The digest of the stored plan of remaining actions. */
  readonly left: string | undefined;
  /** The digest of the summary of a state outside the fleet's database. */
  readonly outside: string | undefined;
  /** The initial contents of the first state, so that the open plan stays valid. */
  readonly fresh: FreshState | undefined;
  /** Missing records of the last run, and since when. */
  readonly missing: readonly {
    readonly address: string;
    readonly id: string | null;
    readonly since: string;
  }[];
  /** Stored data about the drift request. */
  readonly request: RequestMemory | undefined;
  /** The stored digest of the texts for the search. */
  readonly searchDigest: string | undefined;
  /** When the row was read, by the clock of the database, in its own format. */
  readonly readAt: string;
  /** Seconds since the run was due. */
  readonly lateness: number;
}

const S = FLEET_SCHEMA;
/** Id and state of the plan of remaining actions. */
export const LEFT = 'left';
/** Id and state, among the plans, of the summary of a state outside the fleet's database. */
export const OUTSIDE = 'outside';

export interface OutsideState extends Pick<StateDocument, 'orphans'> {
  /** The name in messages. */
  readonly location: string;
  readonly resources: Readonly<Record<string, Pick<ResourceEntry, 'id'>>>;
}

/** The workspaces of jobs, without paused and removed ones. */
export async function rowsToRun(
  { ask }: FleetStatements,
  jobs: readonly ClaimedJob[],
): Promise<ReadonlyMap<string, RunRow>> {
  const rows = await ask(
    `SELECT w.*, now()::text AS read_at, w.last->'missing' AS missing, w.last->>'hold' AS hold,
  extract(epoch FROM now() - j.due)::float8 AS lateness, p.id AS plan_id, p.digest, p.state AS plan_state,
  ${conflictColumns({ address: 'w.address', workspaceId: 'w.workspace_id', baseUrl: 'w.base_url' })},
  ARRAY(SELECT r.id FROM ${S}.plans r WHERE r.address = w.address AND r.state = 'rejected') AS rejected, l.digest AS left_digest, s.digest AS outside_digest,
  p.decided_by, coalesce(p.plan, l.plan)->'state' AS planned_state, n.digest AS request, t.digest AS search_digest
FROM json_to_recordset($1::json) AS j (address text, due timestamptz)
JOIN ${S}.workspaces w ON w.address = j.address AND w.paused_at IS NULL AND w.vanished_at IS NULL
LEFT JOIN ${S}.plans p ON p.address = w.address AND p.state IN ('waiting', 'approved')
LEFT JOIN ${S}.plans l ON l.address = w.address AND l.id = '${LEFT}'
LEFT JOIN ${S}.plans s ON s.address = w.address AND s.id = '${OUTSIDE}'
LEFT JOIN ${S}.notified n ON n.address = w.address AND n.key = 'request'
LEFT JOIN ${S}.notified t ON t.address = w.address AND t.key = 'search'`,
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
    asked: why === undefined ? undefined : { why: why as AskedWhy, by: text('asked_by') },
    approved:
      row.plan_state !== 'approved'
        ? undefined
        : { id: String(row.plan_id), digest: String(row.digest), by: String(row.decided_by) },
    conflict: conflictOf(String(row.address), row),
    openPlan: text('plan_id'),
    isHeldByFreeze: row.hold === 'frozen',
    rejected: row.rejected as string[],
    left: text('left_digest'),
    outside: text('outside_digest'),
    fresh: freshIn(row.planned_state),
    missing: (row.missing ?? []) as RunRow['missing'],
    request: row.request === null ? undefined : (JSON.parse(String(row.request)) as RequestMemory),
    searchDigest: text('search_digest'),
    readAt: String(row.read_at),
    lateness: Number(row.lateness),
  };
}

/** The lineage of a plan that was made before there was a state. */
function freshIn(planned: unknown): FreshState | undefined {
  const state = planned as (FreshState & { readonly serial: number }) | null;
  return state?.serial === 0 ? { lineage: state.lineage, salt: state.salt } : undefined;
}

/** The maximum number of workspaces per query. */
const MAX_AT_ONCE = 500;
/** The part of an interval by which a run may be earlier or later, so that runs spread out. */
const SPREAD = 0.1;

/** The due workspaces of these sources as jobs, the first due one first. Sets their next times. */
export async function takeDue({ ask }: FleetStatements, sources: readonly string[]): Promise<QueuedRun[]> {
  const rows = await ask(
    `WITH due AS (SELECT address, due_at FROM ${S}.workspaces
  WHERE due_at <= now() AND paused_at IS NULL AND vanished_at IS NULL AND source = ANY ($1::text[])
  ORDER BY due_at LIMIT ${MAX_AT_ONCE} FOR UPDATE SKIP LOCKED)
UPDATE ${S}.workspaces w
SET due_at = now() + w.interval_ms * (${1 - SPREAD} + ${2 * SPREAD} * random()) * interval '1 millisecond',
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

/** Locks these workspaces until the transaction ends, in a fixed order to avoid deadlocks. */
export async function lockRows({ ask }: FleetStatements, addresses: readonly string[]): Promise<void> {
  await ask(`SELECT FROM ${S}.workspaces WHERE address = ANY ($1::text[]) ORDER BY address FOR UPDATE`, addresses);
}
