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
import { enterNewWorkspaces } from './search-terms.ts';

/** A source that this process fetches. */
export interface ClaimedSource {
  readonly name: string;
  /** A later claim has a higher number. */
  readonly seq: string;
  /** The time of the claim, by the clock of the database. */
  readonly at: string;
}

/** Milliseconds without a heartbeat after which another process fetches. */
const FETCH_TIMEOUT = 30_000;
/** Seconds after which a source that no process names is given up. */
const REMOVED_AFTER = 60;
/** The condition for a source that no process names. */
export const REMOVED = "next_fetch = 'infinity'";
/** The condition for an active workspace. */
export const RUNS = 'paused_at IS NULL AND vanished_at IS NULL';
/** Milliseconds between the first runs of workspaces that are new together. */
const NEWCOMER_PACE = 25;

const S = FLEET_SCHEMA;
const CLAIM = 'name, seq::text, now()::text AS at';

function claimOf({ name, seq, at }: DatabaseRow): ClaimedSource {
  return { name: String(name), seq: String(seq), at: String(at) };
}

const GIVEN = 'json_to_recordset($1::json) AS m (name text, shown text, identity text)';

function sourcesJson(all: Sources['all']): string {
  return storableJson(all.map(({ name, shown, identity }) => ({ name, shown, identity })));
}

/** Live processes that use this name for the same source. */
const holdersOf = (source: string): string => `${S}.processes p
WHERE p.heard_at > now() - interval '${FETCH_TIMEOUT} milliseconds' AND p.sources->>${source}.name = ${source}.identity`;

/**
 * Registers the sources of the fleet file and claims all of them: a process starts with the sources of its own file. It gets none whose
 * name means another source to a live process.
 */
export async function enterSources({ ask }: FleetStatements, all: Sources['all']): Promise<readonly ClaimedSource[]> {
  const rows = await ask(
    `INSERT INTO ${S}.sources (name, shown, identity, next_fetch, fetching)
SELECT name, shown, identity, now() + $2 * interval '1 millisecond', true FROM ${GIVEN} ORDER BY name
ON CONFLICT (name) DO UPDATE SET shown = excluded.shown, identity = excluded.identity, digest = NULL, seq = sources.seq + 1,
  next_fetch = excluded.next_fetch, wanted = false, fetching = true
WHERE sources.identity IS NOT DISTINCT FROM excluded.identity OR NOT EXISTS (SELECT FROM ${holdersOf('sources')})
RETURNING ${CLAIM}`,
    sourcesJson(all),
    FETCH_TIMEOUT,
  );
  return rows.map(claimOf);
}

/** A source of the fleet file whose name means another source to live processes. */
interface SourceConflict {
  readonly name: string;
  /** Their source of this name. */
  readonly theirs: string;
  readonly host: string;
  readonly pid: number;
}

export async function conflictingSources(
  { ask }: FleetStatements,
  all: Sources['all'],
): Promise<readonly SourceConflict[]> {
  const rows = await ask(
    `SELECT s.name, s.identity AS theirs, h.host, h.pid FROM ${GIVEN} JOIN ${S}.sources s USING (name)
JOIN LATERAL (SELECT p.host, p.pid FROM ${holdersOf('s')} ORDER BY p.since LIMIT 1) h ON true
WHERE s.identity <> m.identity ORDER BY s.name`,
    sourcesJson(all),
  );
  return rows as readonly unknown[] as readonly SourceConflict[];
}

/**
 * Marks the workspaces of sources that are in no process's fleet file as removed. A process that still has a source fetches it in time.
 */
export async function removeSources(database: FleetDatabase, named: readonly string[]): Promise<void> {
  await database.atomically(async (statements) => {
    const rows = await statements.ask(
      `UPDATE ${S}.sources SET ${REMOVED}, seq = seq + 1, fetched_at = NULL, digest = NULL, problem = NULL, warnings = NULL, broken = NULL
WHERE next_fetch < now() - ${REMOVED_AFTER} * interval '1 second' AND NOT (name = ANY ($1::text[])) RETURNING name`,
      named,
    );
    for (const { name } of rows) {
      await enterMembers(statements, { source: String(name), commit: undefined, projects: [], warnings: [] });
    }
  });
}

/** Applies rules to the known workspaces of sources, even if these cannot be fetched. */
export async function enterRules(
  database: FleetDatabase,
  sources: readonly string[],
  rules: readonly FleetRule[],
): Promise<void> {
  const rows = await database.ask(
    `SELECT address, mode, interval_ms FROM ${S}.workspaces WHERE source = ANY ($1::text[]) AND vanished_at IS NULL`,
    sources,
  );
  const ruled = rows.flatMap((row) => {
    const { mode, interval } = ruleOf(rules, String(row.address));
    if (row.mode === mode && Number(row.interval_ms) === interval) return [];
    return [{ address: String(row.address), mode, interval_ms: interval }];
  });
  if (ruled.length === 0) return;
  const isNews = 'o.mode <> excluded.mode';
  await database.atomically(async (statements) => {
    await lockRows(
      statements,
      ruled.map(({ address }) => address),
    );
    await statements.ask(
      `UPDATE ${S}.workspaces o SET mode = excluded.mode, interval_ms = excluded.interval_ms, ${conditional(isNews)}
FROM json_to_recordset($1::json) AS excluded (address text, mode text, interval_ms bigint) WHERE o.address = excluded.address`,
      storableJson(ruled),
    );
  });
}

/** Claims the sources that are due. A name that meant another source is taken over once no live process uses that one. */
export async function claimSources({ ask }: FleetStatements, all: Sources['all']): Promise<readonly ClaimedSource[]> {
  const rows = await ask(
    `WITH due AS (SELECT s.name, m.shown, m.identity FROM ${S}.sources s JOIN ${GIVEN} USING (name)
  WHERE s.identity IS NOT DISTINCT FROM m.identity AND (s.next_fetch <= now() OR s.wanted AND NOT s.fetching OR ${REMOVED})
    OR s.identity IS DISTINCT FROM m.identity AND NOT EXISTS (SELECT FROM ${holdersOf('s')}) FOR UPDATE OF s SKIP LOCKED)
UPDATE ${S}.sources s SET seq = seq + 1, next_fetch = now() + $2 * interval '1 millisecond', shown = due.shown, identity = due.identity,
  digest = CASE WHEN s.identity IS NOT DISTINCT FROM due.identity THEN s.digest END, wanted = false, fetching = true
FROM due WHERE s.name = due.name
RETURNING s.${CLAIM}`,
    sourcesJson(all),
    FETCH_TIMEOUT,
  );
  return rows.map(claimOf);
}

/** Makes a source due, or due again after the current fetch. */
export async function requestFetch({ ask }: FleetStatements, name: string): Promise<void> {
  await ask(`UPDATE ${S}.sources SET wanted = true WHERE name = $1 AND NOT wanted`, name);
}

/** Sources that other processes have claimed and fetched since. */
export async function fetchedSince(
  { ask }: FleetStatements,
  claims: readonly ClaimedSource[],
): Promise<readonly string[]> {
  if (claims.length === 0) return [];
  const rows = await ask(
    `SELECT name FROM json_to_recordset($1::json) AS c (name text, at timestamptz) JOIN ${S}.sources s USING (name) WHERE s.fetched_at > c.at`,
    storableJson([...claims]),
  );
  return rows.map(({ name }) => String(name));
}

/** Renews the claims of sources; without time left, gives them to others. */
export async function renewClaims(
  { ask }: FleetStatements,
  claims: Iterable<ClaimedSource>,
  timeout = FETCH_TIMEOUT,
): Promise<void> {
  await ask(
    `UPDATE ${S}.sources s SET next_fetch = now() + $2 * interval '1 millisecond'
FROM json_to_recordset($1::json) AS c (name text, seq bigint) WHERE s.name = c.name AND s.seq = c.seq`,
    storableJson([...claims]),
    timeout,
  );
}

interface Found {
  readonly claimed: ClaimedSource;
  readonly contents: SourceContents;
  /** Milliseconds until the next fetch. */
  readonly interval: number;
}

/** Stores the result of a fetch, unless another process has claimed the source since. */
export function enterContents(
  database: FleetDatabase,
  { claimed: { name, seq }, contents, interval }: Found,
): Promise<'new' | 'same' | 'taken-over'> {
  const digest = hash('sha256', JSON.stringify(contents));
  return database.atomically(async (statements) => {
    const [before] = await statements.ask(
      `SELECT digest FROM ${S}.sources WHERE name = $1 AND seq = $2::bigint FOR UPDATE`,
      name,
      seq,
    );
    if (before === undefined) return 'taken-over';
    const isNew = before.digest !== digest;
    if (isNew) await enterMembers(statements, contents);
    await statements.ask(
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

/** Stores why a source could not be fetched. */
export async function enterFetchProblem(
  { ask }: FleetStatements,
  { claimed: { name, seq }, problem, interval }: Omit<Found, 'contents'> & { readonly problem: string },
): Promise<void> {
  await ask(
    `UPDATE ${S}.sources SET problem = $3, seq = seq + 1, fetching = false, next_fetch = now() + $4 * interval '1 millisecond'
WHERE name = $1 AND seq = $2::bigint`,
    name,
    seq,
    problem,
    interval,
  );
}

export async function versionsInUse({ ask }: FleetStatements, source: string): Promise<ReadonlySet<string>> {
  const rows = await ask(
    `SELECT DISTINCT unnest(ARRAY[version, good_version]) AS version FROM ${S}.workspaces WHERE source = $1`,
    source,
  );
  return new Set(rows.flatMap(({ version }) => (version === null ? [] : [String(version)])));
}

/** Patterns of rules that are the first match of no workspace; empty as long as a source was never fetched. */
export async function unusedPatterns(
  { ask }: FleetStatements,
  patterns: readonly string[],
): Promise<readonly string[]> {
  const values: unknown[] = [patterns.map((pattern) => pattern.replace(/[\\%_]/g, '\\$&').replaceAll('*', '%'))];
  const used = patterns.map((pattern, index) => {
    const source = sourceIn(pattern);
    const inSource = source === undefined ? '' : `AND source = $${values.push(source)}`;
    return `EXISTS (SELECT FROM ${S}.workspaces WHERE vanished_at IS NULL ${inSource} AND address LIKE ($1::text[])[${index + 1}]
  AND address NOT LIKE ALL (($1::text[])[1:${index}]))`;
  });
  const [row] = await ask(
    `SELECT ARRAY[${used.join(', ')}]::boolean[] AS used WHERE EXISTS (SELECT FROM ${S}.workspaces WHERE vanished_at IS NULL)
  AND NOT EXISTS (SELECT FROM ${S}.sources WHERE fetched_at IS NULL AND NOT ${REMOVED}) AND cardinality($1::text[]) > 0`,
    ...values,
  );
  return row === undefined ? [] : patterns.filter((_, index) => !(row.used as readonly boolean[])[index]);
}

/** The kinds of groups of which active workspaces are in more than one; all kinds if there are no workspaces. */
export async function severalOf({ ask }: FleetStatements): Promise<readonly (keyof RunGroups)[]> {
  // Comparing the first with the last is cheaper than counting.
  const edge = (values: string, order: string): string =>
    `(SELECT ${values} FROM ${S}.workspaces WHERE ${RUNS} ORDER BY ${order} LIMIT 1)`;
  const project = "source || '/' || project";
  const origin = "coalesce(substring(base_url from '^[^/]*//[^/]*'), '')";
  const [row] = await ask(
    `SELECT coalesce(${edge('source', 'source, project')} <> ${edge('source', 'source DESC, project DESC')}, true) AS source,
  coalesce(${edge(project, 'source, project')} <> ${edge(project, 'source DESC, project DESC')}, true) AS project,
  coalesce(${edge(origin, origin)} <> ${edge(origin, `${origin} DESC`)}, true) AS origin`,
  );
  return (['origin', 'source', 'project'] as const).filter((sharing) => row?.[sharing] === true);
}

const IS_NEWS = `o.version <> excluded.version OR o.mode <> excluded.mode OR o.vanished_at IS NOT NULL
  OR o.refused IS DISTINCT FROM excluded.refused`;
const CHANGED = `asked_at = now(), asked_why = 'changed', asked_by = NULL, due_at = now()`;

const FOUND = `json_to_recordset($1::json) AS m (address text, project text, workspace text, "workspaceId" text, "baseUrl" text,
  mode text, interval bigint, version text, commit text, refused text)`;

const DIFFERS = `(w.source, w.project, w.workspace, w.workspace_id, w.base_url, w.mode, w.interval_ms, w.version, w.refused, w.problem, w.vanished_at)
  IS DISTINCT FROM ($2, m.project, m.workspace, m."workspaceId", m."baseUrl", m.mode, m.interval, m.version, m.refused, NULL::text, NULL::timestamptz)`;

async function enterMembers(statements: FleetStatements, { source, projects }: SourceContents): Promise<void> {
  const { ask } = statements;
  const members = projects.flatMap((project) => project.members);
  const broken = projects.filter(({ problem }) => problem !== undefined);
  const unknown = broken.flatMap(({ project, isUnknown }) => (isUnknown === true ? [project] : []));
  const found = storableJson(members);
  // A lock on an unchanged row would block the results of runs.
  await ask(
    `SELECT FROM ${S}.workspaces w LEFT JOIN ${FOUND} ON m.address = w.address
WHERE w.source = $2 AND (m.address IS NULL OR ${DIFFERS}) ORDER BY w.address FOR UPDATE OF w`,
    found,
    source,
  );
  await ask(
    `INSERT INTO ${S}.workspaces AS o (address, source, project, workspace, workspace_id, base_url, mode, interval_ms, version, commit, refused, due_at)
SELECT m.address, $2, m.project, m.workspace, m."workspaceId", m."baseUrl", m.mode, m.interval, m.version, m.commit, m.refused,
  now() + random() * least(m.interval, $3) * interval '1 millisecond'
FROM ${FOUND} LEFT JOIN ${S}.workspaces w ON w.address = m.address
WHERE w.address IS NULL OR ${DIFFERS} ORDER BY m.address
ON CONFLICT (address) DO UPDATE SET
  source = excluded.source, project = excluded.project, workspace = excluded.workspace,
  workspace_id = excluded.workspace_id, base_url = excluded.base_url, mode = excluded.mode,
  interval_ms = excluded.interval_ms, version = excluded.version, commit = excluded.commit,
  refused = excluded.refused, problem = NULL, vanished_at = NULL, ${conditional(IS_NEWS)}`,
    found,
    source,
    members.length * NEWCOMER_PACE,
  );
  await enterNewWorkspaces(
    statements,
    members.map(({ address }) => address),
  );
  // Their runs report the problem and use the last valid manifests.
  await ask(
    `UPDATE ${S}.workspaces w SET version = p.version, commit = p.commit, problem = p.problem, ${CHANGED}
FROM json_to_recordset($1::json) AS p (project text, version text, commit text, problem text)
WHERE w.source = $2 AND w.project = p.project AND w.vanished_at IS NULL
  AND (w.version, w.problem) IS DISTINCT FROM (p.version, p.problem)`,
    storableJson(broken.map(({ members: _, ...project }) => project)),
    source,
  );
  const removed = `source = $1 AND NOT (address = ANY ($2::text[])) AND NOT (project = ANY ($3::text[]))
  AND NOT EXISTS (SELECT FROM unnest($4::text[]) AS folder WHERE starts_with(project, folder || '/'))`;
  const here = [source, members.map(({ address }) => address), broken.map(({ project }) => project), unknown];
  // A workspace that was never applied has nothing to remember.
  await ask(
    `DELETE FROM ${S}.workspaces w WHERE ${removed} AND coalesce((last->>'records')::integer, 0) = 0
  AND NOT EXISTS (SELECT FROM ${S}.states s WHERE s.name = w.address AND s.state IS NOT NULL)`,
    ...here,
  );
  await ask(`UPDATE ${S}.workspaces SET vanished_at = now() WHERE ${removed} AND vanished_at IS NULL`, ...here);
}

function conditional(condition: string): string {
  return `asked_at = CASE WHEN ${condition} THEN now() ELSE o.asked_at END,
  asked_why = CASE WHEN ${condition} THEN 'changed' ELSE o.asked_why END,
  asked_by = CASE WHEN ${condition} THEN NULL ELSE o.asked_by END,
  due_at = CASE WHEN ${condition} THEN now() ELSE least(o.due_at, now() + excluded.interval_ms * interval '1 millisecond') END`;
}
