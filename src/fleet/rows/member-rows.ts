import { hash } from 'node:crypto';
import type { DatabaseRow } from '../../state/backends/postgres/database.ts';
import { type FleetRule, sourceIn } from '../addresses.ts';
import type { FleetDatabase, FleetStatements } from '../database/fleet-database.ts';
import { storableJson } from '../database/fleet-database.ts';
import { FLEET_SCHEMA } from '../database/fleet-tables.ts';
import { ruleOf } from '../fleet-file.ts';
import type { SourceContents, Sources } from '../member.ts';
import { brokenProjects } from '../members.ts';
import type { RunGroups } from '../slots.ts';
import { lockRows } from './run-rows.ts';
import { addWorkspaceTerms } from './search-terms.ts';

/** The claim of this process on a source that it fetches. */
export interface ClaimedSource {
  readonly name: string;
  /** The number of the claim. Each later claim has a higher number. */
  readonly seq: string;
  /** The time of the claim, by the clock of the database. */
  readonly at: string;
}

/** Milliseconds without a heartbeat after which another process may fetch a source. */
const CLAIM_TIMEOUT_MS = 30_000;
/** Seconds after which a source that is in no process's fleet file counts as removed. */
const REMOVED_AFTER_SECONDS = 60;
export const IS_REMOVED = "next_fetch = 'infinity'";
/** The SQL condition for an active workspace: neither paused nor removed. */
export const IS_ACTIVE = 'paused_at IS NULL AND vanished_at IS NULL';
/** The average number of milliseconds between the first runs of workspaces that are discovered together. */
const NEW_WORKSPACE_INTERVAL_MS = 25;

const S = FLEET_SCHEMA;
const CLAIM_COLUMNS = 'name, seq::text, now()::text AS at';

function claimOf({ name, seq, at }: DatabaseRow): ClaimedSource {
  return { name: String(name), seq: String(seq), at: String(at) };
}

/** The SQL table of the sources in the first parameter. */
const SOURCES_PARAMETER = 'json_to_recordset($1::json) AS m (name text, shown text, identity text)';

function sourcesJson(all: Sources['all']): string {
  return storableJson(all.map(({ name, shown, identity }) => ({ name, shown, identity })));
}

/** Returns the SQL for the live processes that have a source with the same name and identity. */
const processesWith = (source: string): string => `${S}.processes p
WHERE p.heard_at > now() - interval '${CLAIM_TIMEOUT_MS} milliseconds' AND p.sources->>${source}.name = ${source}.identity`;

/**
 * Registers the sources of the fleet file and claims them all, because a starting process fetches each source of its file once. Skips
 * sources whose name a live process uses for a different source.
 */
export async function registerSources(
  { query }: FleetStatements,
  all: Sources['all'],
): Promise<readonly ClaimedSource[]> {
  const rows = await query(
    `INSERT INTO ${S}.sources (name, shown, identity, next_fetch, fetching)
SELECT name, shown, identity, now() + $2 * interval '1 millisecond', true FROM ${SOURCES_PARAMETER} ORDER BY name
ON CONFLICT (name) DO UPDATE SET shown = excluded.shown, identity = excluded.identity, digest = NULL, seq = sources.seq + 1,
  next_fetch = excluded.next_fetch, wanted = false, fetching = true
WHERE sources.identity IS NOT DISTINCT FROM excluded.identity OR NOT EXISTS (SELECT FROM ${processesWith('sources')})
RETURNING ${CLAIM_COLUMNS}`,
    sourcesJson(all),
    CLAIM_TIMEOUT_MS,
  );
  return rows.map(claimOf);
}

/** A source of the fleet file whose name a live process uses for a different source. */
interface SourceConflict {
  readonly name: string;
  /** The identity of the source that the process uses under this name. */
  readonly theirs: string;
  readonly host: string;
  readonly pid: number;
}

export async function conflictingSources(
  { query }: FleetStatements,
  all: Sources['all'],
): Promise<readonly SourceConflict[]> {
  const rows = await query(
    `SELECT s.name, s.identity AS theirs, h.host, h.pid FROM ${SOURCES_PARAMETER} JOIN ${S}.sources s USING (name)
JOIN LATERAL (SELECT p.host, p.pid FROM ${processesWith('s')} ORDER BY p.since LIMIT 1) h ON true
WHERE s.identity <> m.identity ORDER BY s.name`,
    sourcesJson(all),
  );
  return rows as readonly unknown[] as readonly SourceConflict[];
}

/**
 * Removes the sources that are in no process's fleet file, with their workspaces: a source counts as removed if no process has fetched it
 * within `REMOVED_AFTER_SECONDS` after it was due.
 */
export async function removeSources(database: FleetDatabase, named: readonly string[]): Promise<void> {
  await database.atomically(async (statements) => {
    const rows = await statements.query(
      `UPDATE ${S}.sources SET ${IS_REMOVED}, seq = seq + 1, fetched_at = NULL, digest = NULL, problem = NULL, warnings = NULL, broken = NULL
WHERE next_fetch < now() - ${REMOVED_AFTER_SECONDS} * interval '1 second' AND NOT (name = ANY ($1::text[])) RETURNING name`,
      named,
    );
    for (const { name } of rows) {
      await storeMembers(statements, { source: String(name), commit: undefined, projects: [], warnings: [] });
    }
  });
}

/** Applies rules to the known workspaces of sources, even if the sources cannot be fetched. */
export async function applyRules(
  database: FleetDatabase,
  sources: readonly string[],
  rules: readonly FleetRule[],
): Promise<void> {
  const rows = await database.query(
    `SELECT address, mode, interval_ms FROM ${S}.workspaces WHERE source = ANY ($1::text[]) AND vanished_at IS NULL`,
    sources,
  );
  const changed = rows.flatMap((row) => {
    const { mode, interval } = ruleOf(rules, String(row.address));
    if (row.mode === mode && Number(row.interval_ms) === interval) return [];
    return [{ address: String(row.address), mode, interval_ms: interval }];
  });
  if (changed.length === 0) return;
  const isChanged = 'o.mode <> excluded.mode';
  await database.atomically(async (statements) => {
    await lockRows(
      statements,
      changed.map(({ address }) => address),
    );
    await statements.query(
      `UPDATE ${S}.workspaces o SET mode = excluded.mode, interval_ms = excluded.interval_ms, ${requestRunIf(isChanged)}
FROM json_to_recordset($1::json) AS excluded (address text, mode text, interval_ms bigint) WHERE o.address = excluded.address`,
      storableJson(changed),
    );
  });
}

/** Claims the sources that are due. A name that was used for a different source is claimed once no live process uses that source. */
export async function claimSources({ query }: FleetStatements, all: Sources['all']): Promise<readonly ClaimedSource[]> {
  const rows = await query(
    `WITH due AS (SELECT s.name, m.shown, m.identity FROM ${S}.sources s JOIN ${SOURCES_PARAMETER} USING (name)
  WHERE s.identity IS NOT DISTINCT FROM m.identity AND (s.next_fetch <= now() OR s.wanted AND NOT s.fetching OR ${IS_REMOVED})
    OR s.identity IS DISTINCT FROM m.identity AND NOT EXISTS (SELECT FROM ${processesWith('s')}) FOR UPDATE OF s SKIP LOCKED)
UPDATE ${S}.sources s SET seq = seq + 1, next_fetch = now() + $2 * interval '1 millisecond', shown = due.shown, identity = due.identity,
  digest = CASE WHEN s.identity IS NOT DISTINCT FROM due.identity THEN s.digest END, wanted = false, fetching = true
FROM due WHERE s.name = due.name
RETURNING s.${CLAIM_COLUMNS}`,
    sourcesJson(all),
    CLAIM_TIMEOUT_MS,
  );
  return rows.map(claimOf);
}

/** Makes a source due now, or after the fetch in progress. */
export async function requestFetch({ query }: FleetStatements, name: string): Promise<void> {
  await query(`UPDATE ${S}.sources SET wanted = true WHERE name = $1 AND NOT wanted`, name);
}

/** Returns the sources that other processes have fetched since these claims. */
export async function fetchedSince(
  { query }: FleetStatements,
  claims: readonly ClaimedSource[],
): Promise<readonly string[]> {
  if (claims.length === 0) return [];
  const rows = await query(
    `SELECT name FROM json_to_recordset($1::json) AS c (name text, at timestamptz) JOIN ${S}.sources s USING (name) WHERE s.fetched_at > c.at`,
    storableJson([...claims]),
  );
  return rows.map(({ name }) => String(name));
}

/** Renews claims. With a timeout of 0, other processes can claim the sources at once. */
export async function renewClaims(
  { query }: FleetStatements,
  claims: Iterable<ClaimedSource>,
  timeout = CLAIM_TIMEOUT_MS,
): Promise<void> {
  await query(
    `UPDATE ${S}.sources s SET next_fetch = now() + $2 * interval '1 millisecond'
FROM json_to_recordset($1::json) AS c (name text, seq bigint) WHERE s.name = c.name AND s.seq = c.seq`,
    storableJson([...claims]),
    timeout,
  );
}

interface FetchResult {
  readonly claimed: ClaimedSource;
  readonly contents: SourceContents;
  /** Milliseconds until the next fetch. */
  readonly interval: number;
}

/** Stores the contents of a source, unless another process has since claimed the source. Returns whether the contents changed. */
export function storeContents(
  database: FleetDatabase,
  { claimed: { name, seq }, contents, interval }: FetchResult,
): Promise<'new' | 'same' | 'taken-over'> {
  const digest = hash('sha256', JSON.stringify(contents));
  return database.atomically(async (statements) => {
    const [stored] = await statements.query(
      `SELECT digest FROM ${S}.sources WHERE name = $1 AND seq = $2::bigint FOR UPDATE`,
      name,
      seq,
    );
    if (stored === undefined) return 'taken-over';
    const isNew = stored.digest !== digest;
    if (isNew) await storeMembers(statements, contents);
    await statements.query(
      `UPDATE ${S}.sources SET commit = $2, fetched_at = now(), problem = NULL, warnings = $3::json, digest = $4,
  broken = $6::json, seq = seq + 1, fetching = false, next_fetch = now() + $5 * interval '1 millisecond' WHERE name = $1`,
      name,
      contents.commit ?? null,
      storableJson(contents.warnings),
      digest,
      interval,
      storableJson(brokenProjects(contents)),
    );
    return isNew ? 'new' : 'same';
  });
}

/** Stores the reason why a source could not be fetched. */
export async function storeFetchProblem(
  { query }: FleetStatements,
  { claimed: { name, seq }, problem, interval }: Omit<FetchResult, 'contents'> & { readonly problem: string },
): Promise<void> {
  await query(
    `UPDATE ${S}.sources SET problem = $3, seq = seq + 1, fetching = false, next_fetch = now() + $4 * interval '1 millisecond'
WHERE name = $1 AND seq = $2::bigint`,
    name,
    seq,
    problem,
    interval,
  );
}

export async function versionsInUse({ query }: FleetStatements, source: string): Promise<ReadonlySet<string>> {
  const rows = await query(
    `SELECT DISTINCT unnest(ARRAY[version, good_version]) AS version FROM ${S}.workspaces WHERE source = $1`,
    source,
  );
  return new Set(rows.flatMap(({ version }) => (version === null ? [] : [String(version)])));
}

/** Returns the rule patterns that apply to no workspace. Returns an empty list until all sources have been fetched. */
export async function unusedPatterns(
  { query }: FleetStatements,
  patterns: readonly string[],
): Promise<readonly string[]> {
  const values: unknown[] = [patterns.map((pattern) => pattern.replace(/[\\%_]/g, '\\$&').replaceAll('*', '%'))];
  const used = patterns.map((pattern, index) => {
    const source = sourceIn(pattern);
    const inSource = source === undefined ? '' : `AND source = $${values.push(source)}`;
    return `EXISTS (SELECT FROM ${S}.workspaces WHERE vanished_at IS NULL ${inSource} AND address LIKE ($1::text[])[${index + 1}]
  AND address NOT LIKE ALL (($1::text[])[1:${index}]))`;
  });
  const [row] = await query(
    `SELECT ARRAY[${used.join(', ')}]::boolean[] AS used WHERE EXISTS (SELECT FROM ${S}.workspaces WHERE vanished_at IS NULL)
  AND NOT EXISTS (SELECT FROM ${S}.sources WHERE fetched_at IS NULL AND NOT ${IS_REMOVED}) AND cardinality($1::text[]) > 0`,
    ...values,
  );
  return row === undefined ? [] : patterns.filter((_, index) => !(row.used as readonly boolean[])[index]);
}

/** Returns the kinds of shared resources of which the active workspaces use more than one; all kinds if there are no workspaces. */
export async function resourceKindsInUse({ query }: FleetStatements): Promise<readonly (keyof RunGroups)[]> {
  // Comparing the first value with the last value is cheaper than counting the values.
  const edge = (values: string, order: string): string =>
    `(SELECT ${values} FROM ${S}.workspaces WHERE ${IS_ACTIVE} ORDER BY ${order} LIMIT 1)`;
  const project = "source || '/' || project";
  const origin = "coalesce(substring(base_url from '^[^/]*//[^/]*'), '')";
  const [row] = await query(
    `SELECT coalesce(${edge('source', 'source, project')} <> ${edge('source', 'source DESC, project DESC')}, true) AS source,
  coalesce(${edge(project, 'source, project')} <> ${edge(project, 'source DESC, project DESC')}, true) AS project,
  coalesce(${edge(origin, origin)} <> ${edge(origin, `${origin} DESC`)}, true) AS origin`,
  );
  return (['origin', 'source', 'project'] as const).filter((sharing) => row?.[sharing] === true);
}

/** The SQL condition for a change to a stored workspace that requires a run. */
const NEEDS_RUN = `o.version <> excluded.version OR o.mode <> excluded.mode OR o.vanished_at IS NOT NULL
  OR o.refused IS DISTINCT FROM excluded.refused`;
const REQUEST_RUN = `asked_at = now(), asked_why = 'changed', asked_by = NULL, due_at = now()`;

/** The SQL table of the workspaces in the first parameter. */
const MEMBERS_PARAMETER = `json_to_recordset($1::json) AS m (address text, project text, workspace text, "workspaceId" text, "baseUrl" text,
  mode text, interval bigint, version text, commit text, refused text)`;

/** The SQL condition for a workspace that differs from its row. */
const DIFFERS = `(w.source, w.project, w.workspace, w.workspace_id, w.base_url, w.mode, w.interval_ms, w.version, w.refused, w.problem, w.vanished_at)
  IS DISTINCT FROM ($2, m.project, m.workspace, m."workspaceId", m."baseUrl", m.mode, m.interval, m.version, m.refused, NULL::text, NULL::timestamptz)`;

/** Stores the workspaces of a source, and removes workspaces that are no longer in the source. */
async function storeMembers(statements: FleetStatements, { source, projects }: SourceContents): Promise<void> {
  const { query } = statements;
  const members = projects.flatMap((project) => project.members);
  const broken = projects.filter(({ problem }) => problem !== undefined);
  const unknown = broken.flatMap(({ project, isUnknown }) => (isUnknown === true ? [project] : []));
  const membersJson = storableJson(members);
  // Unchanged rows are not locked, so that runs can store their results.
  await query(
    `SELECT FROM ${S}.workspaces w LEFT JOIN ${MEMBERS_PARAMETER} ON m.address = w.address
WHERE w.source = $2 AND (m.address IS NULL OR ${DIFFERS}) ORDER BY w.address FOR UPDATE OF w`,
    membersJson,
    source,
  );
  await query(
    `INSERT INTO ${S}.workspaces AS o (address, source, project, workspace, workspace_id, base_url, mode, interval_ms, version, commit, refused, due_at)
SELECT m.address, $2, m.project, m.workspace, m."workspaceId", m."baseUrl", m.mode, m.interval, m.version, m.commit, m.refused,
  now() + random() * least(m.interval, $3) * interval '1 millisecond'
FROM ${MEMBERS_PARAMETER} LEFT JOIN ${S}.workspaces w ON w.address = m.address
WHERE w.address IS NULL OR ${DIFFERS} ORDER BY m.address
ON CONFLICT (address) DO UPDATE SET
  source = excluded.source, project = excluded.project, workspace = excluded.workspace,
  workspace_id = excluded.workspace_id, base_url = excluded.base_url, mode = excluded.mode,
  interval_ms = excluded.interval_ms, version = excluded.version, commit = excluded.commit,
  refused = excluded.refused, problem = NULL, vanished_at = NULL, ${requestRunIf(NEEDS_RUN)}`,
    membersJson,
    source,
    members.length * NEW_WORKSPACE_INTERVAL_MS,
  );
  await addWorkspaceTerms(
    statements,
    members.map(({ address }) => address),
  );
  // The runs of broken projects report the problem and use the last valid manifests.
  await query(
    `UPDATE ${S}.workspaces w SET version = p.version, commit = p.commit, problem = p.problem, ${REQUEST_RUN}
FROM json_to_recordset($1::json) AS p (project text, version text, commit text, problem text)
WHERE w.source = $2 AND w.project = p.project AND w.vanished_at IS NULL
  AND (w.version, w.problem) IS DISTINCT FROM (p.version, p.problem)`,
    storableJson(broken.map(({ members: _, ...project }) => project)),
    source,
  );
  const removed = `source = $1 AND NOT (address = ANY ($2::text[])) AND NOT (project = ANY ($3::text[]))
  AND NOT EXISTS (SELECT FROM unnest($4::text[]) AS folder WHERE starts_with(project, folder || '/'))`;
  const values = [source, members.map(({ address }) => address), broken.map(({ project }) => project), unknown];
  // A removed workspace without records or state is deleted.
  await query(
    `DELETE FROM ${S}.workspaces w WHERE ${removed} AND coalesce((last->>'records')::integer, 0) = 0
  AND NOT EXISTS (SELECT FROM ${S}.states s WHERE s.name = w.address AND s.state IS NOT NULL)`,
    ...values,
  );
  await query(`UPDATE ${S}.workspaces SET vanished_at = now() WHERE ${removed} AND vanished_at IS NULL`, ...values);
}

/** Returns the SQL assignments that request a run if a condition is true. */
function requestRunIf(condition: string): string {
  return `asked_at = CASE WHEN ${condition} THEN now() ELSE o.asked_at END,
  asked_why = CASE WHEN ${condition} THEN 'changed' ELSE o.asked_why END,
  asked_by = CASE WHEN ${condition} THEN NULL ELSE o.asked_by END,
  due_at = CASE WHEN ${condition} THEN now() ELSE least(o.due_at, now() + excluded.interval_ms * interval '1 millisecond') END`;
}
