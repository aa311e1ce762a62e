import { type ShownWorkspace, STALE, shownStatus } from '../../operator/shown-workspace.ts';
import { type Need, type RunStatus, type WorkspaceStatus, workspaceStatuses } from '../../operator/workspace-status.ts';
import type { DatabaseRow } from '../../state/backends/postgres/database.ts';
import type { Json } from '../../values/json.ts';
import type { FleetStatements } from '../database/fleet-database.ts';
import { FLEET_SCHEMA } from '../database/fleet-tables.ts';
import { queuedLateness } from '../database/queue-tables.ts';
import type { BrokenProject } from '../member.ts';
import { currentFreeze, type Freeze } from './freeze-rows.ts';
import { REMOVED } from './member-rows.ts';

/** The condition for a process without heartbeats. */
export const IS_DEAD = "heard_at < now() - interval '60 seconds'";
const STALE_AFTER = `greatest(${STALE.intervals} * interval_ms, ${STALE.least}) * interval '1 millisecond'`;

export const IS_OLD = `coalesce(checked_at < now() - ${STALE_AFTER}, false)`;

const S = FLEET_SCHEMA;

/** The status of `shownStatus`. */
export const SHOWN = `CASE WHEN vanished_at IS NOT NULL THEN 'vanished' WHEN paused_at IS NOT NULL THEN 'paused'
  WHEN ${IS_OLD} AND status NOT IN ('failed', 'invalid') THEN 'stale' ELSE status END`;

/** The time since which it has this status. */
export const SHOWN_SINCE = `CASE ${SHOWN} WHEN 'vanished' THEN vanished_at WHEN 'paused' THEN paused_at
  WHEN 'stale' THEN checked_at + ${STALE_AFTER} ELSE status_since END`;

const FOR_PERSON = `((last->'person')::integer > 0 OR (last->'orphans')::integer > 0)`;

export const NEEDS: Readonly<Record<Need, string>> = {
  records: `((last->'doubtful')::integer > 0 OR (last->'counts'->'unknown')::integer > 0 OR last->'missing'->0 IS NOT NULL)`,
  refused: `(last->>'result' = 'refused' AND ${SHOWN} NOT IN ('failed', 'invalid', 'paused', 'vanished'))`,
  steps: `(${FOR_PERSON} AND ${SHOWN} IN ('in-sync', 'pending'))`,
};

const RUNS = 'FILTER (WHERE paused_at IS NULL AND vanished_at IS NULL)';
const STAYS = 'FILTER (WHERE vanished_at IS NULL)';

/** Figures of the whole fleet. Times are ISO 8601, ages are seconds. */
export interface FleetFigures {
  readonly at: string;
  /** Set while nothing may be written. */
  readonly frozen: Freeze | null;
  readonly counts: Readonly<Record<WorkspaceStatus, number>>;
  /** The longest time that a workspace has been waiting for its run, in the queue or before; 0 without one. */
  readonly lateness: number;
  /** The age of the oldest check of an active workspace; its age as a workspace if it was never checked; null without any. */
  readonly oldestCheckAge: number | null;
  /** Active workspaces without a check. */
  readonly neverChecked: number;
  /** Open orphans of the last runs. */
  readonly orphans: number;
  /** Policy violations in the plans of the last runs. */
  readonly violations: { readonly deny: number; readonly warn: number };
  /** Workspaces by the status of their drift request, for those with one. */
  readonly requests: Readonly<Record<string, number>>;
  readonly sources: readonly {
    readonly name: string;
    readonly shown: string;
    readonly commit: string | null;
    readonly fetchedAge: number | null;
    readonly problem: string | null;
    /** True if no process has it in its fleet file. */
    readonly removed: boolean;
    readonly warnings: readonly string[];
    /** Includes sources whose workspaces are only known from before. */
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
  const [row = {}] = await statements.ask(`SELECT now() AS at, w.*,
  (SELECT json_object_agg(shown, number) FROM (SELECT ${SHOWN} AS shown, count(*)::integer AS number FROM ${S}.workspaces GROUP BY 1) c) AS counts,
  (SELECT json_object_agg(status, number) FROM (SELECT CASE WHEN digest::json->>'problem' IS NULL
    THEN coalesce(digest::json->'kept'->>'is', 'none') ELSE 'failing' END AS status, count(*)::integer AS number
    FROM ${S}.notified WHERE key = 'request' GROUP BY 1) r) AS requests,
  (SELECT coalesce(json_agg(json_build_object('name', name, 'shown', shown, 'commit', commit, 'fetchedAge',
    extract(epoch FROM now() - fetched_at)::float8, 'problem', problem, 'removed', ${REMOVED}, 'warnings', coalesce(warnings::jsonb, '[]') || (SELECT coalesce(jsonb_agg(format(
      'Process %s on %s waits with another source of this name: %s', p.pid, p.host, p.sources->>s.name) ORDER BY p.since), '[]')
      FROM ${S}.processes p WHERE p.sources->>s.name <> s.identity AND NOT ${IS_DEAD}),
    'broken', coalesce(broken, '[]')) ORDER BY name), '[]')
    FROM ${S}.sources s WHERE NOT ${REMOVED} OR EXISTS (SELECT FROM ${S}.workspaces w WHERE w.source = s.name)) AS sources,
  (SELECT coalesce(json_agg(json_build_object('id', id, 'host', host, 'pid', pid, 'version', version, 'since', since,
    'heardAge', extract(epoch FROM now() - heard_at)::float8, 'status',
    CASE WHEN ${IS_DEAD} THEN 'dead' WHEN ending THEN 'ending' ELSE 'alive' END,
    'runs', runs) ORDER BY since), '[]') FROM ${S}.processes) AS processes
  FROM (SELECT coalesce(greatest(0, extract(epoch FROM now() - min(due_at) ${RUNS})), 0)::float8 AS lateness,
    extract(epoch FROM now() - min(coalesce(checked_at, status_since)) ${RUNS})::float8 AS oldest,
    (count(*) ${RUNS} - count(checked_at) ${RUNS})::integer AS unchecked, coalesce(sum((last->'orphans')::integer), 0)::integer AS orphans,
    coalesce(sum((last->'violations'->>'deny')::integer) ${STAYS}, 0)::integer AS deny,
    coalesce(sum((last->'violations'->>'warn')::integer) ${STAYS}, 0)::integer AS warn FROM ${S}.workspaces) AS w`);
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

/** The most urgent first. */
export async function shownWorkspaces(
  { ask }: FleetStatements,
  { statuses, address, addresses = address === undefined ? undefined : [address], limit = 1000 }: WorkspaceFilter = {},
): Promise<readonly FleetWorkspace[]> {
  const rows = await ask(
    `SELECT * FROM (SELECT w.*, ${SHOWN} AS shown, now() AS at,
  p.id AS plan_id, p.state AS plan_state, p.made_at, p.decided_by, r.id AS rejected, r.decided_at AS rejected_at, r.decided_by AS rejected_by, r.made_at AS rejected_made_at,
  (SELECT n.summary->>'because' FROM ${S}.runs n WHERE n.address = r.address AND n.plan_id = r.id AND n.result = 'rejected'
    ORDER BY n.id DESC LIMIT 1) AS rejected_because
  FROM ${S}.workspaces w LEFT JOIN ${S}.plans p ON p.address = w.address AND p.state IN ('waiting', 'approved')
  LEFT JOIN ${S}.plans r ON r.address = w.address AND r.id = w.last->>'rejected' AND r.state = 'rejected'
  WHERE $1::text[] IS NULL OR w.address = ANY ($1)) AS s
WHERE $2::text[] IS NULL OR shown = ANY ($2)
ORDER BY array_position($4::text[], shown), ${NEEDS.records} IS NOT TRUE, ${FOR_PERSON} IS NOT TRUE, address LIMIT $3`,
    addresses ?? null,
    statuses ?? null,
    limit,
    workspaceStatuses,
  );
  return rows.map(shownOf);
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
