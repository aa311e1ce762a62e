import { type ShownWorkspace, STALE, shownStatus } from '../../operator/shown-workspace.ts';
import { type Need, type RunStatus, type WorkspaceStatus, workspaceStatuses } from '../../operator/workspace-status.ts';
import type { DatabaseRow } from '../../state/backends/postgres/database.ts';
import type { Json } from '../../values/json.ts';
import type { FleetStatements } from '../database/fleet-database.ts';
import { FLEET_SCHEMA } from '../database/fleet-tables.ts';
import { queuedLateness } from '../database/queue-tables.ts';
import type { BrokenProject } from '../member.ts';
import { currentFreeze, type Freeze } from './freeze-rows.ts';
import { IS_ACTIVE, IS_REMOVED } from './member-rows.ts';
import { IS_DEAD } from './process-rows.ts';

/** The SQL interval after which a check is stale. */
const STALE_AFTER = `greatest(${STALE.intervals} * interval_ms, ${STALE.minMilliseconds}) * interval '1 millisecond'`;

/** The SQL condition for a workspace whose last check is stale. */
export const IS_STALE = `coalesce(checked_at < now() - ${STALE_AFTER}, false)`;
/** An SQL condition that is true for every stale workspace and possibly for others. Queries with this condition can use an index. */
const MAY_BE_STALE = `checked_before AT TIME ZONE 'UTC' + ${STALE_AFTER} < now() AT TIME ZONE 'UTC'`;

const S = FLEET_SCHEMA;

const shownIf = (
  isRemoved: string,
  isPaused: string,
  isStale: string,
): string => `CASE WHEN ${isRemoved} THEN 'vanished' WHEN ${isPaused} THEN 'paused'
  WHEN ${isStale} AND status NOT IN ('failed', 'invalid') THEN 'stale' ELSE status END`;

/** The SQL expression for the status of a workspace. `shownStatus` must return the same status. */
export const SHOWN_STATUS = shownIf('vanished_at IS NOT NULL', 'paused_at IS NOT NULL', IS_STALE);

/** The SQL expression for the time since which a workspace has had its status. */
export const SHOWN_SINCE = `CASE ${SHOWN_STATUS} WHEN 'vanished' THEN vanished_at WHEN 'paused' THEN paused_at
  WHEN 'stale' THEN checked_at + ${STALE_AFTER} ELSE status_since END`;

interface StatusSql {
  /** A condition that is equivalent to `SHOWN_STATUS = status` and that can use the index for the status. */
  readonly condition: string;
  /** An expression for the time since which a workspace has had the status. */
  readonly since: string;
}

/** Returns the SQL to select workspaces with a status. */
export function sqlOf(status: WorkspaceStatus): StatusSql {
  switch (status) {
    case 'vanished':
      return { condition: 'vanished_at IS NOT NULL', since: 'vanished_at' };
    case 'paused':
      return { condition: 'vanished_at IS NULL AND paused_at IS NOT NULL', since: 'paused_at' };
    case 'stale': {
      const condition = `${IS_ACTIVE} AND ${MAY_BE_STALE} AND ${IS_STALE} AND status NOT IN ('failed', 'invalid')`;
      return { condition, since: `checked_at + ${STALE_AFTER}` };
    }
    case 'failed':
    case 'invalid':
      return { condition: `${IS_ACTIVE} AND status = '${status}'`, since: 'status_since' };
    default:
      return { condition: `${IS_ACTIVE} AND status = '${status}' AND NOT ${IS_STALE}`, since: 'status_since' };
  }
}

/** The bits of the column `attention`. */
const ATTENTION = { violations: 8, records: 4, steps: 2, refused: 1 } as const;
const hasAttention = (reason: keyof typeof ATTENTION) => `attention > 0 AND attention & ${ATTENTION[reason]} > 0`;

/** The SQL conditions for workspaces that need attention, by reason. */
export const NEEDS: Readonly<Record<Need, string>> = {
  records: hasAttention('records'),
  refused: `${hasAttention('refused')} AND ${SHOWN_STATUS} NOT IN ('failed', 'invalid', 'paused', 'vanished')`,
  steps: `${hasAttention('steps')} AND ${SHOWN_STATUS} IN ('in-sync', 'pending')`,
};

/** Figures of the whole fleet. Times are ISO 8601, ages are seconds. */
export interface FleetFigures {
  readonly at: string;
  readonly frozen: Freeze | null;
  readonly counts: Readonly<Record<WorkspaceStatus, number>>;
  /** The delay of the most overdue run, queued or not; 0 if no run is overdue. */
  readonly lateness: number;
  /** The longest time since the last check, or else the discovery, of an active workspace; null if no workspace is active. */
  readonly oldestCheckAge: number | null;
  /** The number of active workspaces that were never checked. */
  readonly neverChecked: number;
  /** The number of open orphans after the last runs. */
  readonly orphans: number;
  /** The number of policy violations in the last plans, by severity. */
  readonly violations: { readonly deny: number; readonly warn: number };
  /** The number of workspaces with a drift request, by the status of the request. */
  readonly requests: Readonly<Record<string, number>>;
  readonly sources: readonly {
    readonly name: string;
    readonly shown: string;
    readonly commit: string | null;
    readonly fetchedAge: number | null;
    readonly problem: string | null;
    /** True if the source is in no process's fleet file. */
    readonly removed: boolean;
    readonly warnings: readonly string[];
    /** The projects that cannot be used, including projects whose workspaces are known from an earlier version. */
    readonly broken: readonly BrokenProject[];
  }[];
  readonly processes: readonly {
    readonly id: string;
    readonly host: string;
    readonly pid: number;
    readonly version: string;
    readonly since: string;
    readonly heardAge: number;
    readonly status: 'alive' | 'ending' | 'dead';
    readonly runs: readonly { readonly address: string; readonly since: string }[];
  }[];
}

export async function fleetFigures(statements: FleetStatements): Promise<FleetFigures> {
  const [queued, frozen] = await Promise.all([queuedLateness(statements), currentFreeze(statements)]);
  const [row = {}] = await statements.query(`SELECT now() AS at, w.*, a.*,
  (SELECT json_object_agg(status, number) FROM (SELECT CASE WHEN document->>'problem' IS NULL
    THEN coalesce(document->'kept'->>'is', 'none') ELSE 'failing' END AS status, count(*)::integer AS number
    FROM ${S}.documents WHERE kind = 'drift-request' GROUP BY 1) r) AS requests,
  (SELECT coalesce(json_agg(json_build_object('name', name, 'shown', shown, 'commit', commit, 'fetchedAge',
    extract(epoch FROM now() - fetched_at)::float8, 'problem', problem, 'removed', ${IS_REMOVED}, 'warnings', coalesce(warnings::jsonb, '[]') || (SELECT coalesce(jsonb_agg(format(
      'Process %s on %s is waiting, because it uses this name for another source: %s', p.pid, p.host, p.sources->>s.name) ORDER BY p.since), '[]')
      FROM ${S}.processes p WHERE p.sources->>s.name <> s.identity AND NOT ${IS_DEAD}),
    'broken', coalesce(broken, '[]')) ORDER BY name), '[]')
    FROM ${S}.sources s WHERE NOT ${IS_REMOVED} OR EXISTS (SELECT FROM ${S}.workspaces w WHERE w.source = s.name)) AS sources,
  (SELECT coalesce(json_agg(json_build_object('id', id, 'host', host, 'pid', pid, 'version', version, 'since', since,
    'heardAge', extract(epoch FROM now() - heard_at)::float8, 'status',
    CASE WHEN ${IS_DEAD} THEN 'dead' WHEN ending THEN 'ending' ELSE 'alive' END,
    'runs', runs) ORDER BY since), '[]') FROM ${S}.processes) AS processes
  FROM (SELECT coalesce(greatest(0, extract(epoch FROM now() - (SELECT min(due_at) FROM ${S}.workspaces WHERE ${IS_ACTIVE}))), 0)::float8 AS lateness,
    json_object_agg(shown, number) AS counts, extract(epoch FROM now() - min(checked))::float8 AS oldest, coalesce(sum(unchecked), 0)::integer AS unchecked
    FROM (SELECT ${shownIf('gone', 'paused', 'old')} AS shown, sum(number)::integer AS number, min(checked) FILTER (WHERE NOT gone AND NOT paused) AS checked,
      sum(unchecked) FILTER (WHERE NOT gone AND NOT paused) AS unchecked
      FROM (SELECT status, vanished_at IS NOT NULL AS gone, paused_at IS NOT NULL AS paused, ${IS_STALE} AS old, count(*) AS number,
        min(coalesce(checked_at, status_since)) AS checked, count(*) - count(checked_at) AS unchecked FROM ${S}.workspaces GROUP BY 1, 2, 3, 4) AS g
      GROUP BY 1) AS c) AS w,
  (SELECT coalesce(sum((last->'orphans')::integer), 0)::integer AS orphans,
    coalesce(sum((last->'violations'->>'deny')::integer) FILTER (WHERE vanished_at IS NULL), 0)::integer AS deny,
    coalesce(sum((last->'violations'->>'warn')::integer) FILTER (WHERE vanished_at IS NULL), 0)::integer AS warn
    FROM ${S}.workspaces WHERE attention > 0) AS a`);
  const counts = Object.fromEntries(workspaceStatuses.map((status) => [status, 0]));
  return {
    at: (row.at as Date).toISOString(),
    frozen: frozen ?? null,
    counts: { ...counts, ...(row.counts as object | null) } as FleetFigures['counts'],
    lateness: Math.max(queued, Number(row.lateness)),
    oldestCheckAge: row.oldest === null ? null : Number(row.oldest),
    neverChecked: Number(row.unchecked),
    orphans: Number(row.orphans),
    violations: { deny: Number(row.deny), warn: Number(row.warn) },
    requests: (row.requests ?? {}) as FleetFigures['requests'],
    sources: row.sources as FleetFigures['sources'],
    processes: row.processes as FleetFigures['processes'],
  };
}

/** A workspace with the seconds since its last check, by the clock of the database. */
export interface FleetWorkspace extends ShownWorkspace {
  readonly checkedAge: number | null;
}

export interface WorkspaceFilter {
  readonly statuses?: readonly WorkspaceStatus[] | undefined;
  readonly address?: string | undefined;
  readonly addresses?: readonly string[] | undefined;
  readonly limit?: number | undefined;
}

/** Returns workspaces, with the most urgent first. */
export async function shownWorkspaces(
  statements: FleetStatements,
  { statuses = workspaceStatuses, address, addresses, limit = 1000 }: WorkspaceFilter = {},
): Promise<readonly FleetWorkspace[]> {
  if (limit === 0) return [];
  if (address !== undefined) return shownWorkspaces(statements, { statuses, addresses: [address], limit });
  const selected = addresses ?? (await mostUrgent(statements, statuses, limit));
  const rows = await statements.query(
    `SELECT * FROM (SELECT w.*, ${SHOWN_STATUS} AS shown, now() AS at,
  p.id AS plan_id, p.state AS plan_state, p.made_at, p.decided_by, r.id AS rejected, r.decided_at AS rejected_at, r.decided_by AS rejected_by, r.made_at AS rejected_made_at,
  (SELECT n.summary->>'because' FROM ${S}.runs n WHERE n.address = r.address AND n.plan_id = r.id AND n.result = 'rejected'
    ORDER BY n.id DESC LIMIT 1) AS rejected_because
  FROM ${S}.workspaces w LEFT JOIN ${S}.plans p ON p.address = w.address AND p.state IN ('waiting', 'approved')
  LEFT JOIN ${S}.plans r ON r.address = w.address AND r.id = w.last->>'rejected' AND r.state = 'rejected'
  WHERE w.address = ANY ($1::text[])) AS s
WHERE shown = ANY ($2::text[])
ORDER BY array_position($3::text[], shown), ${URGENCY}, address`,
    selected,
    statuses,
    workspaceStatuses,
  );
  return rows.map(shownOf);
}

/** The SQL sort order: first workspaces with records that may be lost or duplicated, then workspaces that need manual work. */
const URGENCY = `attention & ${ATTENTION.records + ATTENTION.steps} DESC`;

async function mostUrgent(
  { query }: FleetStatements,
  statuses: readonly WorkspaceStatus[],
  limit: number,
): Promise<readonly string[]> {
  // Two queries per status, because most workspaces need no attention and can be read in the order of an index.
  const some = statuses.flatMap((status) => [
    `(SELECT address FROM ${S}.workspaces WHERE ${sqlOf(status).condition} AND attention > 0 ORDER BY ${URGENCY}, address LIMIT $1)`,
    `(SELECT address FROM ${S}.workspaces WHERE ${sqlOf(status).condition} AND attention = 0 ORDER BY address LIMIT $1)`,
  ]);
  const ranked = some.map((each, rank) => `SELECT ${rank} AS rank, address FROM ${each} AS s`);
  const rows = await query(`SELECT address FROM (${ranked.join(' UNION ALL ')}) AS s ORDER BY rank LIMIT $1`, limit);
  return rows.map(({ address }) => String(address));
}

function shownOf(row: DatabaseRow): FleetWorkspace {
  const text = (column: string): string | null => (row[column] === null ? null : String(row[column]));
  const time = (column: string): string | null => (row[column] === null ? null : (row[column] as Date).toISOString());
  const why = text('asked_why');
  const pausedAt = time('paused_at');
  const paused =
    pausedAt === null ? null : { at: pausedAt, by: String(row.paused_by), because: text('paused_because') };
  const [plan, rejected, vanishedAt] = [text('plan_id'), text('rejected'), time('vanished_at')];
  const at = row.at as Date;
  const checkedAt = (row.checked_at ?? undefined) as Date | undefined;
  const intervalSeconds = Number(row.interval_ms) / 1000;
  const [status, since] = [row.status as RunStatus | 'never-run', row.status_since as Date];
  return {
    address: String(row.address),
    ...shownStatus({ status, since, checkedAt, paused, vanishedAt, intervalSeconds }, at),
    mode: String(row.mode),
    intervalSeconds,
    workspaceId: text('workspace_id'),
    baseUrl: text('base_url'),
    checkedAt: time('checked_at'),
    checkedAge: checkedAt === undefined ? null : (at.getTime() - checkedAt.getTime()) / 1000,
    dueAt: String(time('due_at')),
    asked: why === null ? null : { why, by: text('asked_by') },
    failures: Number(row.failures),
    paused,
    vanishedAt,
    commit: text('commit'),
    problem: text('problem'),
    plan:
      plan === null
        ? null
        : {
            id: plan,
            state: String(row.plan_state),
            madeAt: String(time('made_at')),
            by: text('decided_by'),
          },
    rejected:
      rejected === null
        ? null
        : {
            id: rejected,
            madeAt: String(time('rejected_made_at')),
            at: String(time('rejected_at')),
            by: String(row.rejected_by),
            because: text('rejected_because'),
          },
    last: row.last as Json,
  };
}
