import { MAX_COUNTED, type ShownWorkspace, type StoredRun } from '../../operator/shown-workspace.ts';
import {
  needs as allNeeds,
  type Need,
  type WorkspaceStatus,
  workspaceStatuses,
} from '../../operator/workspace-status.ts';
import { type PastRun, withResults } from '../../runs/past-runs.ts';
import { parseRuns } from '../../state/run-history.ts';
import type { StateDocument } from '../../state/state-document.ts';
import type { MovedMark } from '../../state/state-errors.ts';
import type { Json } from '../../values/json.ts';
import type { FleetStatements } from '../database/fleet-database.ts';
import { FLEET_SCHEMA } from '../database/fleet-tables.ts';
import { documentOf } from './document-rows.ts';
import { IS_ACTIVE } from './member-rows.ts';
import { IS_DEAD } from './process-rows.ts';
import type { ExternalState } from './run-rows.ts';
import { beginsWith } from './search-terms.ts';
import { IS_STALE, NEEDS, SHOWN_SINCE, SHOWN_STATUS, shownWorkspaces, sqlOf } from './status-rows.ts';

const S = FLEET_SCHEMA;

/** The SQL sort orders. Each order ends with the address, so that it is unique and no workspace is on two pages. */
const orders = {
  status: 'rank, since DESC, address',
  address: 'address',
  since: 'since DESC, address',
  due: 'inactive, due_at, address',
} as const;

type Order = keyof typeof orders;

export interface WorkspaceFilter {
  readonly status: WorkspaceStatus | undefined;
  readonly needs: Need | undefined;
  readonly source: string | undefined;
  /** Selects workspaces with a resource that has this label, such as `team=sales`. */
  readonly label: string | undefined;
  /** Selects only addresses that sort after this one. */
  readonly after?: string | undefined;
  /** The number of rows on a page. */
  readonly limit: number;
}

interface PageSelection extends WorkspaceFilter {
  /** The beginning of the address or of a word in it. */
  readonly word: string | undefined;
  readonly order: Order;
  readonly offset: number;
}

/** Returns one page of workspaces in order, with the number of matches and the total, both counted up to `MAX_COUNTED + 1`. */
export async function pageOfWorkspaces(
  statements: FleetStatements,
  selection: PageSelection,
): Promise<{ readonly rows: readonly ShownWorkspace[]; readonly found: number; readonly total: number }> {
  const { status, needs, source, label, word, order, after, offset, limit } = selection;
  if (offset >= MAX_COUNTED) return pageOfWorkspaces(statements, { ...selection, offset: 0, limit: 0 });
  const values: unknown[] = [];
  const bind = (value: unknown): string => `$${values.push(value)}`;
  const filters = [
    'true',
    ...(source === undefined ? [] : [`source = ${bind(source)}`]),
    ...(word === undefined ? [] : [hasTerm(bind(word.toLowerCase()))]),
    ...(label === undefined ? [] : [`labels @> to_jsonb(${bind(label)}::text)`]),
    ...(needs === undefined ? [] : [NEEDS[needs]]),
  ];
  const found = [...filters, ...(status === undefined ? [] : [sqlOf(status).condition])].join(' AND ');
  const isLater = after === undefined ? 'true' : `address > ${bind(after)}`;
  const last = bind(offset + limit);
  const many =
    order === 'address'
      ? `SELECT address FROM ${S}.workspaces w WHERE ${found} AND ${isLater}`
      : queryInParts(order, status, { filter: filters.join(' AND '), last });
  const wanted = `ORDER BY ${orders[order]} LIMIT ${bind(limit)} OFFSET ${bind(offset)}`;
  const [row] = await statements.query(
    `WITH f AS MATERIALIZED (SELECT address, array_position(${bind(workspaceStatuses)}::text[], ${SHOWN_STATUS}) AS rank, ${SHOWN_SINCE} AS since,
  NOT (${IS_ACTIVE}) AS inactive, due_at FROM ${S}.workspaces w WHERE ${found} LIMIT ${MAX_COUNTED + 1}), n AS MATERIALIZED (SELECT count(*)::integer AS found FROM f)
SELECT found, (SELECT count(*)::integer FROM (SELECT FROM ${S}.workspaces LIMIT ${MAX_COUNTED + 1}) AS t) AS total, ${last}::integer AS last,
  CASE WHEN found > ${MAX_COUNTED} THEN ARRAY(${many} ${wanted}) ELSE ARRAY(SELECT address FROM f WHERE ${isLater} ${wanted}) END AS addresses FROM n`,
    ...values,
  );
  const addresses = row?.addresses as string[];
  return {
    rows: addresses.flatMap(await byAddress(statements, addresses)),
    found: Number(row?.found),
    total: Number(row?.total),
  };
}

/** A subset of the workspaces that can be read in the order of an index. */
interface Part {
  readonly condition: string;
  /** The SQL columns for the sort order. */
  readonly columns: string;
  /** The SQL order within the part. */
  readonly orderBy: string;
}

function partsOf(order: Order, status: WorkspaceStatus | undefined): readonly Part[] {
  if (order === 'due') {
    const all = status === undefined ? 'true' : sqlOf(status).condition;
    const part = (activity: string, inactive: boolean) => ({
      condition: `${all} AND ${activity}`,
      columns: `${inactive} AS inactive, due_at`,
      orderBy: 'due_at',
    });
    return [part(IS_ACTIVE, false), part(`NOT (${IS_ACTIVE})`, true)];
  }
  return (status === undefined ? workspaceStatuses : [status]).map((each) => {
    const { condition, since } = sqlOf(each);
    const columns = `${workspaceStatuses.indexOf(each)} AS rank, ${since} AS since`;
    return { condition, columns, orderBy: `${since} DESC` };
  });
}

/** Returns SQL that reads only the first rows of each part. When sorted by status, it skips parts after the page is full. */
function queryInParts(
  order: Order,
  status: WorkspaceStatus | undefined,
  { filter, last }: { readonly filter: string; readonly last: string },
): string {
  let limit = last;
  const parts = partsOf(order, status).map(({ condition, columns, orderBy }, nth) => {
    const part = `p${nth} AS (SELECT address, ${columns} FROM ${S}.workspaces w WHERE ${filter} AND ${condition}
  ORDER BY ${orderBy}, address LIMIT greatest(0, ${limit}))`;
    if (order === 'status') limit += ` - (SELECT count(*) FROM p${nth})`;
    return part;
  });
  const rows = parts.map((_, nth) => `SELECT * FROM p${nth}`);
  return `WITH ${parts.join(', ')} SELECT address FROM (${rows.join(' UNION ALL ')}) AS s`;
}

/** Returns the SQL condition that a word of the address begins with a text. The text must be in lower case. */
function hasTerm(text: string): string {
  return `EXISTS (SELECT FROM ${S}.search_terms t WHERE t.address = w.address AND resource = '' AND ${beginsWith('term', text)})`;
}

/** Returns a function that finds one of these workspaces by address. */
async function byAddress(
  statements: FleetStatements,
  addresses: readonly string[],
): Promise<(address: string) => ShownWorkspace | readonly []> {
  const rows = addresses.length === 0 ? [] : await shownWorkspaces(statements, { addresses });
  const found = new Map(rows.map((each) => [each.address, each]));
  return (address) => found.get(address) ?? [];
}

/** Workspaces with one status or one need. */
interface WorkspaceGroup {
  /** The number of workspaces, counted up to `MAX_COUNTED + 1`. */
  readonly found: number;
  readonly rows: readonly ShownWorkspace[];
}

/**
 * Returns the workspaces for each status or need, with the oldest first, using one query.
 * @param limits the statuses and needs, and the maximum number of workspaces for each.
 */
export async function workspacesByReason(
  statements: FleetStatements,
  limits: Readonly<Partial<Record<WorkspaceStatus | Need, number>>>,
): Promise<ReadonlyMap<string, WorkspaceGroup>> {
  const reasons = Object.entries(limits).map(([reason, limit]) => {
    const status = workspaceStatuses.find((each) => each === reason);
    const need = allNeeds.find((each) => each === reason);
    const [since, isLast] =
      status === undefined ? [SHOWN_SINCE, `${SHOWN_STATUS} = 'in-sync',`] : [sqlOf(status).since, ''];
    const selected = `FROM ${S}.workspaces WHERE ${status === undefined ? NEEDS[need ?? 'records'] : sqlOf(status).condition}`;
    return `SELECT '${reason}' AS reason, (SELECT count(*)::integer FROM (SELECT ${selected} LIMIT ${MAX_COUNTED + 1}) AS f) AS found,
  ARRAY(SELECT address ${selected} ORDER BY ${isLast} ${since}, address LIMIT ${limit}) AS addresses`;
  });
  const found = await statements.query(reasons.join(' UNION ALL '));
  const rowOf = await byAddress(
    statements,
    found.flatMap((row) => row.addresses as string[]),
  );
  return new Map(
    found.map((row) => [
      String(row.reason),
      { found: Number(row.found), rows: (row.addresses as string[]).flatMap(rowOf) },
    ]),
  );
}

export async function sourceNames({ query }: FleetStatements): Promise<readonly string[]> {
  return (await query(`SELECT name FROM ${S}.sources ORDER BY name`)).map(({ name }) => String(name));
}

/** Returns stored runs of a workspace, newest first. @param id selects one run. */
export async function runsOfWorkspace(
  { query }: FleetStatements,
  address: string,
  { id, limit }: { readonly id?: string; readonly limit: number },
): Promise<readonly StoredRun[]> {
  const rows = await query(
    `SELECT id::text, 'fleet' AS command, started_at AS "startedAt", seconds, mode, result, why, who AS "askedBy", commit,
  plan_id AS plan, process, summary FROM ${S}.runs r WHERE address = $1 AND ($2::bigint IS NULL OR id = $2) ORDER BY r.id DESC LIMIT $3`,
    address,
    id ?? null,
    limit,
  );
  return rows as readonly unknown[] as readonly StoredRun[];
}

/** Returns true if a process is running the workspace. */
export async function isRunning({ query }: FleetStatements, address: string): Promise<boolean> {
  const [row] = await query(
    `SELECT EXISTS (SELECT FROM ${S}.processes, json_array_elements(runs) r WHERE NOT (${IS_DEAD}) AND r->>'address' = $1) AS running`,
    address,
  );
  return row?.running === true;
}

/** Returns the pending, approved or most recently rejected plan, and the plan of the actions that remained after the last run. */
export async function currentPlans(
  { query }: FleetStatements,
  address: string,
): Promise<{
  readonly saved: { readonly id: string; readonly madeAt: Date; readonly plan: Json } | undefined;
  readonly remaining: Json | undefined;
}> {
  const [row] = await query(
    `SELECT p.id, p.made_at, p.plan, ${documentOf('w.address', 'remaining-plan')} AS remaining FROM ${S}.workspaces w
LEFT JOIN ${S}.plans p ON p.address = w.address AND (p.state IN ('waiting', 'approved') OR p.state = 'rejected' AND p.id = w.last->>'rejected')
WHERE w.address = $1 ORDER BY p.state = 'rejected' LIMIT 1`,
    address,
  );
  const isSaved = row !== undefined && row.id !== null;
  return {
    saved: isSaved ? { id: String(row.id), madeAt: row.made_at as Date, plan: row.plan as Json } : undefined,
    remaining: (row?.remaining ?? undefined) as Json | undefined,
  };
}

/** Returns a plan of a run with its state; undefined if the plan is no longer stored. */
export async function storedPlan(
  { query }: FleetStatements,
  address: string,
  id: string,
): Promise<{ readonly plan: Json; readonly state: string } | undefined> {
  const [row] = await query(`SELECT plan, state FROM ${S}.plans WHERE address = $1 AND id = $2`, address, id);
  return row && { plan: row.plan as Json, state: String(row.state) };
}

interface StoredState {
  /** The state, if it is in the fleet's database. */
  readonly document: StateDocument | undefined;
  /** The summary of the state, if the state is elsewhere. */
  readonly external: ExternalState | undefined;
  /** True if the state is elsewhere and no run has reported its contents yet. */
  readonly isMoved: boolean;
  /** The runs in the history of the state. */
  readonly runs: readonly PastRun[];
}

/** Returns the state of a workspace and its history. */
export async function storedState({ query }: FleetStatements, address: string): Promise<StoredState> {
  const [row] = await query(
    `SELECT ${documentOf('$1', 'external-state')} AS external,
  (SELECT state FROM ${S}.states WHERE name = $1) AS document, (SELECT lock->>'id' FROM ${S}.states WHERE name = $1) AS holder,
  ARRAY(SELECT line FROM ${S}.history WHERE name = $1 ORDER BY revision) AS history`,
    address,
  );
  const { external, document, holder, history } = row as {
    readonly external: ExternalState | null;
    readonly document: string | null;
    readonly holder: string | null;
    readonly history: readonly string[];
  };
  const stored = JSON.parse(document ?? 'null') as StateDocument | MovedMark | null;
  const moved = stored !== null && 'moved_to' in stored ? stored : undefined;
  return {
    isMoved: external === null && moved !== undefined,
    external: external ?? (moved && { location: moved.moved_to, resources: {}, orphans: [] }),
    document: external === null && stored !== null && stored !== moved ? (stored as StateDocument) : undefined,
    runs: withResults(parseRuns(history), holder ?? undefined),
  };
}

/** Updates the number of open orphans in the results of the last run. */
export async function storeOrphanCount({ query }: FleetStatements, address: string, open: number): Promise<void> {
  await query(
    `UPDATE ${S}.workspaces SET last = last || jsonb_build_object('orphans', $2::integer) WHERE address = $1`,
    address,
    open,
  );
}

const FREEZES = `(SELECT json_build_array(count(*), count(ended_at)) FROM ${S}.freezes)`;

/** Returns a digest that changes with any list of workspaces, and every ten seconds, because time changes the lists too. */
export async function fleetVersion({ query }: FleetStatements): Promise<string> {
  const changed = workspaceStatuses.map(
    (status) => `(SELECT max(status_since) FROM ${S}.workspaces WHERE status = '${status}' AND ${IS_ACTIVE})`,
  );
  const latest = (column: string) => `(SELECT max(${column}) FROM ${S}.workspaces WHERE ${column} IS NOT NULL)`;
  const [row] = await query(
    `SELECT md5(json_build_array(${changed.join(', ')}, ${latest('paused_at')}, ${latest('vanished_at')}, ${latest('asked_at')},
  floor(extract(epoch FROM now()) / 10), (SELECT json_agg(json_build_array(name, problem, broken) ORDER BY name) FROM ${S}.sources),
  (SELECT json_build_array(count(*), max(since), max(planned_at), max(failures)) FROM ${S}.pulls), ${FREEZES})::text) AS version`,
  );
  return String(row?.version);
}

/** Returns a digest that changes when the page of a workspace changes; empty if the workspace does not exist. */
export async function workspaceVersion({ query }: FleetStatements, address: string): Promise<string> {
  const [row] = await query(
    `SELECT md5(json_build_array(${SHOWN_STATUS}, ${IS_STALE}, status_since, checked_at, paused_at, asked_at, failures, version, problem,
  (SELECT json_agg(json_build_array(id, state, digest) ORDER BY id) FROM ${S}.plans p WHERE p.address = w.address),
  (SELECT json_agg(json_build_array(kind, digest) ORDER BY kind) FROM ${S}.documents d WHERE d.address = w.address),
  (SELECT max(id) FROM ${S}.runs r WHERE r.address = w.address),
  (SELECT json_agg(json_build_array(resource, asked_at, until) ORDER BY resource) FROM ${S}.comparisons c WHERE c.address = w.address),
  (SELECT revision FROM ${S}.states s WHERE s.name = w.address), ${FREEZES})::text) AS version FROM ${S}.workspaces w WHERE address = $1`,
    address,
  );
  return row === undefined ? '' : String(row.version);
}
