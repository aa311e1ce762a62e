import type { PullRequest } from '../../hosting/pull-requests.ts';
import { UserError } from '../../problems/user-error.ts';
import type { DatabaseRow } from '../../state/backends/postgres/database.ts';
import type { Json } from '../../values/json.ts';
import type { FleetDatabase, FleetStatements } from '../database/fleet-database.ts';
import { storableJson } from '../database/fleet-database.ts';
import { FLEET_SCHEMA } from '../database/fleet-tables.ts';

const S = FLEET_SCHEMA;

/** Milliseconds without a heartbeat after which another process may take over the work. */
const CLAIM_TIMEOUT_MS = 30_000;
/** Milliseconds after a merge during which the reviewed plans are compared with the pending plans. */
const MAX_APPROVAL_DELAY_MS = 86_400_000;

export interface PullRow extends PullRequest {
  readonly source: string;
  /** The commit whose plans are complete and were reported to the code host. */
  readonly plannedHead: string | undefined;
  readonly plannedAt: Date | undefined;
  /** The time at which the fleet first saw the request in this state. */
  readonly since: Date;
  readonly failures: number;
  /** The reason why the plans are incomplete or were not reported, if any. */
  readonly problem: string | undefined;
}

/** A pull request that this process works on. */
export interface ClaimedPull extends PullRow {
  /** The id of the claim. */
  readonly holder: string;
  /** Milliseconds since `since` at the time of the claim, by the clock of the database. */
  readonly age: number;
}

export const pullResults = [
  'changes',
  'unchanged',
  'denied',
  'invalid',
  'failed',
  'new',
  'removed',
  'validated',
] as const;

export type PullResult = (typeof pullResults)[number];

interface PullPlanDetails {
  /** Remarks for reviewers, as sentences, such as the reason why the plan after the merge needs approval. */
  readonly notes: readonly string[];
  /** The reason why there is no plan, with the positions of the errors. */
  readonly problem?:
    | { readonly message: string; readonly hint?: string; readonly places: readonly string[] }
    | undefined;
}

/** The plan of a workspace at the newest commit of a pull request. */
export interface PullPlan extends PullPlanDetails {
  /** The address of the workspace, or of a project whose workspaces are unknown. */
  readonly address: string;
  readonly result: PullResult;
  /** A plan after the merge with this digest needs no further approval; undefined if the plan after the merge always needs approval. */
  readonly digest: string | undefined;
  readonly plan: Json | undefined;
}

export interface ShownPullPlan extends PullPlan {
  readonly madeAt: Date;
  /** A sentence about the plan after the merge. */
  readonly outcome: string | undefined;
}

/** Stores the open requests of a source. Returns the numbers of all other requests that are stored as open. */
export async function storeOpenPulls(
  { atomically }: FleetDatabase,
  source: string,
  open: readonly PullRequest[],
): Promise<readonly number[]> {
  return atomically(async (statements) => {
    await storePulls(statements, source, open);
    const rows = await statements.query(
      `SELECT number FROM ${S}.pulls WHERE source = $1 AND state = 'open' AND NOT (number = ANY ($2::integer[]))`,
      source,
      open.map(({ number }) => number),
    );
    await statements.query(
      `UPDATE ${S}.sources SET pulls_problem = NULL, pulls_problem_since = NULL WHERE name = $1 AND pulls_problem IS NOT NULL`,
      source,
    );
    return rows.map(({ number }) => Number(number));
  });
}

/** The SQL table of the requests in the second parameter. */
const PULLS_PARAMETER = `json_to_recordset($2::json) AS p (number integer, url text, title text, author text, base text, branch text, head text,
  "isFork" boolean, state text, "mergedAs" text)`;

/** Stores requests. Schedules work for new heads, reopened requests and merges. */
export async function storePulls(
  { query }: FleetStatements,
  source: string,
  pulls: readonly PullRequest[],
): Promise<void> {
  if (pulls.length === 0) return;
  const isChanged = 'o.head <> excluded.head OR o.state <> excluded.state';
  await query(
    `INSERT INTO ${S}.pulls AS o (source, number, url, title, author, base, branch, head, is_fork, state, merged_as, work_at)
SELECT $1, number, url, title, author, base, branch, head, "isFork", state, "mergedAs", CASE state WHEN 'open' THEN now() END
FROM ${PULLS_PARAMETER} ORDER BY number
ON CONFLICT (source, number) DO UPDATE SET url = excluded.url, title = excluded.title, author = excluded.author, base = excluded.base,
  branch = excluded.branch, head = excluded.head, is_fork = excluded.is_fork, state = excluded.state, merged_as = excluded.merged_as,
  since = CASE WHEN o.state <> excluded.state THEN now() ELSE o.since END,
  planned_head = CASE WHEN o.state <> 'open' AND excluded.state = 'open' THEN NULL ELSE o.planned_head END,
  failures = CASE WHEN ${isChanged} THEN 0 ELSE o.failures END,
  work_at = CASE WHEN excluded.state = 'closed' THEN NULL WHEN ${isChanged} THEN now() ELSE o.work_at END
WHERE (o.url, o.title, o.author, o.base, o.branch, o.head, o.is_fork, o.state, o.merged_as)
  IS DISTINCT FROM (excluded.url, excluded.title, excluded.author, excluded.base, excluded.branch, excluded.head, excluded.is_fork,
    excluded.state, excluded.merged_as)`,
    source,
    storableJson(pulls),
  );
}

export async function storePullsProblem({ query }: FleetStatements, source: string, problem: string): Promise<void> {
  await query(
    `UPDATE ${S}.sources SET pulls_problem = $2, pulls_problem_since = coalesce(pulls_problem_since, now())
WHERE name = $1 AND pulls_problem IS DISTINCT FROM $2`,
    source,
    problem,
  );
}

/** A source whose pull requests cannot be read. */
export interface PullsProblem {
  readonly source: string;
  readonly message: string;
  /** The time at which the problem started, in ISO 8601; null if unknown. */
  readonly since: string | null;
}

export async function pullProblems({ query }: FleetStatements): Promise<readonly PullsProblem[]> {
  const rows = await query(
    `SELECT name, pulls_problem, pulls_problem_since FROM ${S}.sources WHERE pulls_problem IS NOT NULL ORDER BY name`,
  );
  return rows.map(({ name, pulls_problem: message, pulls_problem_since: since }) => ({
    source: String(name),
    message: String(message),
    since: since === null ? null : (since as Date).toISOString(),
  }));
}

/** Claims requests of these sources whose work is due. Requests that have waited the longest come first. */
export async function claimPulls(
  { query }: FleetStatements,
  { sources, limit }: { readonly sources: readonly string[]; readonly limit: number },
): Promise<readonly ClaimedPull[]> {
  const rows = await query(
    `UPDATE ${S}.pulls SET holder = gen_random_uuid()::text, until = now() + $3 * interval '1 millisecond'
WHERE (source, number) IN (SELECT source, number FROM ${S}.pulls
  WHERE work_at <= now() AND source = ANY ($1::text[]) AND (until IS NULL OR until < now())
  ORDER BY work_at LIMIT $2 FOR UPDATE SKIP LOCKED)
RETURNING *, extract(epoch FROM now() - since)::float8 * 1000 AS age`,
    sources,
    limit,
    CLAIM_TIMEOUT_MS,
  );
  return rows.map((row) => ({ ...pullOf(row), holder: String(row.holder), age: Number(row.age) }));
}

/** Renews claims. Returns the holders of claims that are still valid and whose request has not changed. */
export async function renewPulls(
  { query }: FleetStatements,
  claimed: readonly ClaimedPull[],
): Promise<ReadonlySet<string>> {
  if (claimed.length === 0) return new Set();
  const rows = await query(
    `UPDATE ${S}.pulls p SET until = now() + $2 * interval '1 millisecond'
FROM json_to_recordset($1::json) AS c (holder text, head text, state text)
WHERE p.holder = c.holder AND p.head = c.head AND p.state = c.state RETURNING p.holder`,
    storableJson(claimed.map(({ holder, head, state }) => ({ holder, head, state }))),
    CLAIM_TIMEOUT_MS,
  );
  return new Set(rows.map(({ holder }) => String(holder)));
}

/** Removes plans for other commits or an earlier state of the request. Returns the addresses of the others, except failed plans. */
export async function plannedAddresses(
  { query }: FleetStatements,
  { source, number, head }: PullRow,
): Promise<ReadonlySet<string>> {
  const rows = await query(
    `WITH own AS (SELECT m.address, m.result, m.head = $3 AND m.made_at >= p.since AS current
  FROM ${S}.pull_plans m JOIN ${S}.pulls p USING (source, number) WHERE source = $1 AND number = $2),
others AS (DELETE FROM ${S}.pull_plans WHERE source = $1 AND number = $2 AND address IN (SELECT address FROM own WHERE NOT current))
SELECT address FROM own WHERE current AND result <> 'failed'`,
    source,
    number,
    head,
  );
  return new Set(rows.map(({ address }) => String(address)));
}

/** Stores a plan, unless another process has claimed the request or the request has a newer commit. */
export async function storePullPlan({ query }: FleetStatements, pull: ClaimedPull, pullPlan: PullPlan): Promise<void> {
  const { address, result, digest, plan, notes, problem } = pullPlan;
  await query(
    `INSERT INTO ${S}.pull_plans AS o (source, number, address, head, result, digest, plan, details)
SELECT source, number, $3, head, $4, $5, $6::json, $7::json FROM ${S}.pulls WHERE holder = $1 AND head = $2
ON CONFLICT (source, number, address) DO UPDATE SET head = excluded.head, result = excluded.result, digest = excluded.digest,
  plan = excluded.plan, details = excluded.details, made_at = now(), outcome = NULL, approved = false`,
    pull.holder,
    pull.head,
    address,
    result,
    digest ?? null,
    plan === undefined ? null : storableJson(plan),
    storableJson({ notes, problem }),
  );
}

export interface FinishedPull {
  /** True if the plans of all workspaces were made and reported. */
  readonly isPlanned: boolean;
  readonly problem: string | undefined;
  /** Milliseconds until more work is due; undefined if no work remains. */
  readonly retryAfter: number | undefined;
}

/** Stores the result of the work on a request and ends the claim. If the request changed in the meantime, more work is due at once. */
export async function finishPull(
  { query }: FleetStatements,
  { holder, head, state }: ClaimedPull,
  { isPlanned, problem, retryAfter }: FinishedPull,
): Promise<void> {
  await query(
    `UPDATE ${S}.pulls SET holder = NULL, until = NULL,
  work_at = CASE WHEN head <> $2 OR state <> $3 THEN CASE state WHEN 'closed' THEN NULL ELSE now() END
    ELSE now() + $6 * interval '1 millisecond' END,
  planned_head = CASE WHEN $4 THEN $2 ELSE planned_head END, planned_at = CASE WHEN $4 THEN now() ELSE planned_at END,
  failures = CASE WHEN $5::text IS NULL THEN 0 ELSE failures + 1 END, problem = $5
WHERE holder = $1`,
    holder,
    head,
    state,
    isPlanned,
    problem ?? null,
    retryAfter ?? null,
  );
}

/** Releases claims, so that another process can continue the work. */
export async function releasePulls({ query }: FleetStatements, holders: readonly string[]): Promise<void> {
  await query(`UPDATE ${S}.pulls SET holder = NULL, until = NULL WHERE holder = ANY ($1::text[])`, holders);
}

export interface MergedPlan {
  readonly address: string;
  readonly digest: string | undefined;
  readonly isApproved: boolean;
  /** True if an outcome is stored for the plan. */
  readonly isDecided: boolean;
  /** The pending or decided plan of the workspace with the same digest. If there is no such plan, the pending plan. */
  readonly current:
    | { readonly id: string; readonly digest: string; readonly state: string; readonly decidedBy: string }
    | undefined;
  /** The last run of the workspace, if it used the merged version. */
  readonly run: { readonly result: string; readonly problem: string | undefined } | undefined;
}

/** Returns the last plans of a merged request; an empty list if it was merged too long ago. */
export async function mergedPlans(
  { query }: FleetStatements,
  { source, number }: PullRow,
): Promise<readonly MergedPlan[]> {
  const rows = await query(
    `SELECT m.address, m.digest, m.approved, m.outcome, w.id, w.digest AS current, w.state, w.decided_by, r.last->>'result' AS result,
  coalesce(r.last->>'error', r.last->'problems'->>0) AS problem
FROM ${S}.pull_plans m
JOIN ${S}.pulls p USING (source, number)
LEFT JOIN ${S}.sources s ON s.name = m.source
LEFT JOIN ${S}.workspaces r ON r.address = m.address AND s.fetched_at > p.since AND r.last->>'commit' = r.commit
LEFT JOIN LATERAL (SELECT * FROM ${S}.plans w WHERE w.address = m.address AND (w.state = 'waiting' OR w.digest = m.digest
    AND (w.state = 'rejected' OR w.state IN ('approved', 'applied') AND w.decided_at >= m.made_at))
  ORDER BY w.digest = m.digest DESC NULLS LAST LIMIT 1) w ON true
WHERE m.source = $1 AND m.number = $2 AND p.state = 'merged' AND p.since > now() - $3 * interval '1 millisecond'
  AND m.result = 'changes' ORDER BY m.address`,
    source,
    number,
    MAX_APPROVAL_DELAY_MS,
  );
  return rows.map(({ address, digest, approved, outcome, id, current, state, decided_by: by, result, problem }) => ({
    address: String(address),
    digest: textIn(digest),
    isApproved: approved === true,
    isDecided: outcome !== null,
    run: result === null ? undefined : { result: String(result), problem: textIn(problem) },
    current:
      id === null
        ? undefined
        : { id: String(id), digest: String(current), state: String(state), decidedBy: String(by) },
  }));
}

interface PullOutcome {
  readonly address: string;
  /** The result of the plan after the merge, as a sentence. */
  readonly outcome: string;
  /** True if the plan is approved. The outcome cannot change after that. */
  readonly isApproved?: boolean;
}

export async function storeOutcome(
  { query }: FleetStatements,
  { source, number }: PullRow,
  { address, outcome, isApproved = false }: PullOutcome,
): Promise<void> {
  await query(
    `UPDATE ${S}.pull_plans SET outcome = $4, approved = $5
WHERE source = $1 AND number = $2 AND address = $3 AND NOT approved AND outcome IS DISTINCT FROM $4`,
    source,
    number,
    address,
    outcome,
    isApproved,
  );
}

/** Removes requests that no longer exist on the code host. */
export async function removePulls(
  { query }: FleetStatements,
  source: string,
  numbers: readonly number[],
): Promise<void> {
  if (numbers.length === 0) return;
  await query(`DELETE FROM ${S}.pulls WHERE source = $1 AND number = ANY ($2::integer[])`, source, numbers);
}

/** Returns the newest fetched commit of a source. @throws UserError if it was never fetched. */
export async function fetchedCommit({ query }: FleetStatements, source: string): Promise<string> {
  const [row] = await query(`SELECT commit FROM ${S}.sources WHERE name = $1`, source);
  if (typeof row?.commit === 'string') return row.commit;
  throw new UserError(`the source ${source} has not been fetched yet`);
}

export interface ListedPull
  extends Pick<PullRow, 'source' | 'number' | 'title' | 'author' | 'url' | 'state' | 'branch' | 'head'> {
  /** The time at which the fleet first saw the request in this state, in ISO 8601. */
  readonly since: string;
  /** `planning` until the plans of `head` are complete and were reported to the code host. */
  readonly status: 'planning' | 'planned' | 'failed';
  readonly problem: string | null;
  readonly workspaces: readonly {
    readonly address: string;
    readonly result: PullResult;
    /** A sentence about the plan after the merge. */
    readonly outcome: string | null;
  }[];
}

interface PullList {
  readonly state?: PullRow['state'] | undefined;
  readonly limit: number;
}

/** The SQL condition for the plans to list. For a merged request, these are all its plans, even if they are for an earlier commit. */
const IS_SHOWN = `(m.head = p.head OR p.state = 'merged')`;

/** Returns requests: first the open requests, then the others. In both groups, the latest requests are first. */
export async function listedPulls(
  { query }: FleetStatements,
  { state, limit }: PullList,
): Promise<readonly ListedPull[]> {
  const rows = await query(
    `SELECT p.*, (SELECT coalesce(json_agg(json_build_object('address', m.address, 'result', m.result, 'outcome', m.outcome)
  ORDER BY m.address), '[]') FROM ${S}.pull_plans m WHERE m.source = p.source AND m.number = p.number AND ${IS_SHOWN}) AS plans
FROM ${S}.pulls p WHERE p.state = coalesce($1, p.state)
ORDER BY p.state = 'open' DESC, p.since DESC, p.source, p.number DESC LIMIT $2`,
    state ?? null,
    limit,
  );
  return rows.map((row) => {
    const pull = pullOf(row);
    const { source, number, title, author, url, branch, head, problem } = pull;
    return {
      ...{ source, number, title, author, url, state: pull.state, branch, head },
      status: pullStatus(pull),
      since: pull.since.toISOString(),
      problem: problem ?? null,
      workspaces: row.plans as ListedPull['workspaces'],
    };
  });
}

export function pullStatus({ problem, plannedHead, head }: PullRow): ListedPull['status'] {
  if (problem !== undefined) return 'failed';
  return plannedHead === head ? 'planned' : 'planning';
}

/** Returns a request of a source, if it is stored. */
export async function findPull(
  { query }: FleetStatements,
  source: string,
  number: number,
): Promise<PullRow | undefined> {
  const [row] = await query(`SELECT * FROM ${S}.pulls WHERE source = $1 AND number = $2`, source, number);
  return row && pullOf(row);
}

/** Returns the plans for the newest commit, or the last plans of a merged request, ordered by address. */
export async function plansOfPull(
  { query }: FleetStatements,
  { source, number }: Pick<PullRow, 'source' | 'number'>,
): Promise<readonly ShownPullPlan[]> {
  const rows = await query(
    `SELECT m.* FROM ${S}.pull_plans m JOIN ${S}.pulls p USING (source, number)
WHERE source = $1 AND number = $2 AND ${IS_SHOWN} ORDER BY address`,
    source,
    number,
  );
  return rows.map(planOf);
}

/** Returns the latest outcome of a merged request for a workspace, if any. */
export async function latestOutcome(
  { query }: FleetStatements,
  address: string,
): Promise<{ readonly source: string; readonly number: number; readonly outcome: string } | undefined> {
  const [row] = await query(
    `SELECT m.source, m.number, m.outcome FROM ${S}.pull_plans m JOIN ${S}.pulls p USING (source, number)
WHERE m.address = $1 AND p.state = 'merged' AND m.outcome IS NOT NULL ORDER BY p.since DESC LIMIT 1`,
    address,
  );
  return row && { source: String(row.source), number: Number(row.number), outcome: String(row.outcome) };
}

function textIn(value: unknown): string | undefined {
  return value === null || value === undefined ? undefined : String(value);
}

function pullOf(row: DatabaseRow): PullRow {
  return {
    source: String(row.source),
    number: Number(row.number),
    url: String(row.url),
    title: String(row.title),
    author: String(row.author),
    base: String(row.base),
    branch: String(row.branch),
    head: String(row.head),
    isFork: row.is_fork === true,
    state: row.state as PullRow['state'],
    mergedAs: textIn(row.merged_as),
    since: row.since as Date,
    plannedHead: textIn(row.planned_head),
    plannedAt: (row.planned_at ?? undefined) as Date | undefined,
    failures: Number(row.failures),
    problem: textIn(row.problem),
  };
}

function planOf(row: DatabaseRow): ShownPullPlan {
  return {
    address: String(row.address),
    result: row.result as PullResult,
    digest: textIn(row.digest),
    plan: (row.plan ?? undefined) as Json | undefined,
    ...(row.details as PullPlanDetails),
    madeAt: row.made_at as Date,
    outcome: textIn(row.outcome),
  };
}
