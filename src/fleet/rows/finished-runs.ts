import { limitResources } from '../../operator/last-run.ts';
import type { AppliedRow } from '../../operator/plan-after.ts';
import type { RequestMemory } from '../../operator/run-report.ts';
import type { RunStatus } from '../../operator/workspace-status.ts';
import type { Json, JsonObject } from '../../values/json.ts';
import type { FleetDatabase, FleetStatements } from '../database/fleet-database.ts';
import { storableJson } from '../database/fleet-database.ts';
import { FLEET_SCHEMA } from '../database/fleet-tables.ts';
import type { ClaimedJob, Queue } from '../queue.ts';
import { releaseWorkspaces } from './claim-rows.ts';
import { storeDocument } from './document-rows.ts';
import { type ExternalState, lockRows, type RunRow } from './run-rows.ts';
import { replaceSearchTerms, type SearchText } from './search-terms.ts';
import { addRunCounts } from './trend-rows.ts';

/** The results of a run for the database, without secrets. */
export interface FinishedRun {
  readonly job: ClaimedJob;
  readonly row: RunRow;
  /** The new status; undefined if the run did not determine the status. */
  readonly status: RunStatus | undefined;
  /** True if the run read the platform. */
  readonly isChecked: boolean;
  readonly hasDrift: boolean;
  readonly failures: number;
  /** Milliseconds until the next run; undefined for the usual interval. With `backsOff`, an earlier due time is replaced. */
  readonly nextRun: { readonly milliseconds: number; readonly backsOff: boolean } | undefined;
  /** True if the run fulfilled the request for a run. */
  readonly fulfillsRequest: boolean;
  /** True if the manifests of this version are valid. */
  readonly isGood: boolean;
  readonly summary: JsonObject;
  /** The change to the stored plans: a plan needs approval, the approved plan was applied, or no plan is needed. */
  readonly plan:
    | { readonly is: 'waiting'; readonly id: string; readonly digest: string; readonly document: object }
    | { readonly is: 'applied'; readonly id: string }
    | { readonly is: 'unnecessary' }
    | undefined;
  /** The plan of the remaining actions; undefined if it has no resources or is unknown. It shares its texts with other plans until it is stored. */
  readonly remaining: { readonly digest: string; readonly document: object } | undefined;
  /** The summary of a state outside the fleet's database. */
  readonly external: { readonly digest: string; readonly state: ExternalState } | undefined;
  /** The stored data about the drift request; undefined if unchanged. */
  readonly request: RequestMemory | undefined;
  /** The searchable texts of the workspace's resources; undefined if unchanged. */
  readonly search: { readonly digest: string; readonly texts: readonly SearchText[] } | undefined;
  /** The entry for the list of runs; undefined for a run without notable results. */
  readonly record:
    | {
        readonly startedAt: Date;
        readonly seconds: number;
        readonly result: string;
        readonly why: string;
        readonly process: string;
        /** The changes that the run applied. Empty if the state's history in the fleet's database contains them. */
        readonly applied: readonly AppliedRow[];
      }
    | undefined;
}

const S = FLEET_SCHEMA;

/** Stores the results of runs and removes their jobs in one transaction. Ignores runs of jobs that others took over. Idempotent. */
export async function storeFinishedRuns(
  database: FleetDatabase,
  queue: Queue,
  runs: readonly FinishedRun[],
): Promise<void> {
  await database.atomically(async (statements) => {
    // Lock the workspaces before the jobs, in the same order as when jobs are queued, to avoid deadlocks.
    await lockRows(
      statements,
      runs.map(({ row }) => row.address),
    );
    const ours = await queue.finish(
      runs.map(({ job }) => job),
      statements,
    );
    const stored = runs.filter(({ job }) => ours.has(job.id));
    if (stored.length === 0) return;
    await releaseWorkspaces(
      statements,
      stored.map(({ job }) => job.id),
    );
    await statements.query(UPDATE, storableJson(stored.map(changesOf)));
    for (const run of stored) {
      await storePlan(statements, run);
      if (run.isChecked) {
        const { row, remaining, external } = run;
        const state = external && { digest: external.digest, document: external.state };
        if (remaining?.digest !== row.remainingDigest)
          await storeDocument(statements, row.address, 'remaining-plan', remaining);
        if (state?.digest !== row.externalDigest) await storeDocument(statements, row.address, 'external-state', state);
      }
      const { row, request, search } = run;
      if (search !== undefined) {
        await replaceSearchTerms(statements, row.address, search.texts);
        await storeDocument(statements, row.address, 'search-terms', { digest: search.digest });
      }
      if (request !== undefined) await storeDocument(statements, row.address, 'drift-request', { document: request });
    }
    const records = stored.filter(({ record }) => record !== undefined);
    if (records.length > 0) await statements.query(ADD_RUNS, storableJson(records.map(recordOf)));
    // Update the counts last, because this locks a row for which other processes may wait.
    await addRunCounts(statements, {
      runs: stored.length,
      failed: stored.filter(({ row, failures }) => failures > row.failures).length,
      drifted: stored.filter(({ hasDrift }) => hasDrift).length,
    });
  });
}

/** Milliseconds until workspaces whose jobs were dropped are due again. */
const RETRY_DELAY_MS = 2000;

/** Removes jobs whose workspaces this process cannot run, and makes the workspaces due again soon, so that another process runs them. */
export function dropJobs(database: FleetDatabase, queue: Queue, jobs: readonly ClaimedJob[]): Promise<void> {
  return database.atomically(async (statements) => {
    const addresses = jobs.map(({ address }) => address);
    await lockRows(statements, addresses);
    await queue.finish(jobs, statements);
    await statements.query(
      `UPDATE ${S}.workspaces SET due_at = least(due_at, now() + $2 * interval '1 millisecond') WHERE address = ANY ($1::text[])`,
      addresses,
      RETRY_DELAY_MS,
    );
  });
}

const UPDATE = `UPDATE ${S}.workspaces w SET
  status = coalesce(r.status, w.status),
  status_since = CASE WHEN coalesce(r.status, w.status) = w.status THEN w.status_since ELSE r.read_at END,
  checked_at = CASE WHEN r.checked THEN r.read_at ELSE w.checked_at END,
  failures = r.failures,
  last = CASE WHEN r.checked THEN r.summary ELSE coalesce(w.last, '{}') || r.summary END,
  good_version = CASE WHEN r.good THEN r.version ELSE w.good_version END,
  good_commit = CASE WHEN r.good THEN r.commit ELSE w.good_commit END,
  asked_why = CASE WHEN r.answer AND w.asked_at <= r.read_at THEN NULL ELSE w.asked_why END,
  asked_by = CASE WHEN r.answer AND w.asked_at <= r.read_at THEN NULL ELSE w.asked_by END,
  asked_at = CASE WHEN r.answer AND w.asked_at <= r.read_at THEN NULL ELSE w.asked_at END,
  due_at = CASE WHEN w.asked_at > r.read_at OR r.summary->>'hold' = 'frozen' AND NOT EXISTS (SELECT FROM ${S}.freezes WHERE ended_at IS NULL) THEN now()
    WHEN r.again IS NULL THEN w.due_at
    WHEN r.backs_off THEN now() + r.again * interval '1 millisecond'
    ELSE least(w.due_at, now() + r.again * interval '1 millisecond') END
FROM json_to_recordset($1::json) AS r (address text, status text, checked boolean, failures integer, summary jsonb, good boolean,
  version text, commit text, answer boolean, read_at timestamptz, again float8, backs_off boolean)
WHERE w.address = r.address`;

function changesOf(run: FinishedRun): Json {
  const { row, nextRun } = run;
  return {
    address: row.address,
    status: run.status ?? null,
    checked: run.isChecked,
    failures: run.failures,
    summary: run.summary,
    good: run.isGood,
    version: row.version,
    commit: row.commit ?? null,
    answer: run.fulfillsRequest,
    read_at: row.readAt,
    again: nextRun?.milliseconds ?? null,
    backs_off: nextRun?.backsOff ?? false,
  };
}

/** The SQL condition for a pending or approved plan. */
const IS_OPEN = `state IN ('waiting', 'approved')`;

/** Returns the SQL assignments for a workspace whose plan is rejected. @param id the SQL expression for the plan's id. */
export function rejectionAssignments(id: string): string {
  return `last = coalesce(last, '{}') || jsonb_build_object('rejected', ${id}::text),
  status = CASE status WHEN 'waiting' THEN 'pending' ELSE status END, status_since = CASE status WHEN 'waiting' THEN now() ELSE status_since END`;
}

/** Stores the change to a workspace's plans. A decided plan becomes pending again only if it has since become stale or was applied. */
async function storePlan({ query }: FleetStatements, { row: { address }, plan }: FinishedRun): Promise<void> {
  if (plan === undefined) return;
  if (plan.is === 'applied') {
    await query(`UPDATE ${S}.plans SET state = 'applied' WHERE address = $1 AND id = $2`, address, plan.id);
    return;
  }
  await query(
    `UPDATE ${S}.plans SET state = 'stale' WHERE address = $1 AND ${IS_OPEN} AND id <> $2`,
    address,
    plan.is === 'waiting' ? plan.id : '',
  );
  if (plan.is === 'unnecessary') return;
  // If the plan was rejected during the run, it does not become pending.
  await query(
    `WITH rejected AS (UPDATE ${S}.workspaces SET ${rejectionAssignments('$2')}
WHERE address = $1 AND EXISTS (SELECT FROM ${S}.plans WHERE address = $1 AND id = $2 AND state = 'rejected'))
INSERT INTO ${S}.plans AS p (address, id, digest, plan) VALUES ($1, $2, $3, $4::json)
ON CONFLICT (address, id) DO UPDATE SET state = 'waiting', plan = excluded.plan, made_at = now(), decided_by = NULL, decided_at = NULL
WHERE p.state IN ('stale', 'applied')`,
    address,
    plan.id,
    plan.digest,
    storableJson(plan.document),
  );
}

const ADD_RUNS = `INSERT INTO ${S}.runs (address, started_at, seconds, mode, result, why, who, commit, plan_id, process, summary)
SELECT address, started_at, seconds, mode, result, why, who, commit, plan_id, process, summary
FROM json_to_recordset($1::json) AS r (address text, started_at timestamptz, seconds float8, mode text, result text, why text,
  who text, commit text, plan_id text, process text, summary json)`;

function recordOf({ row, record, plan, summary }: FinishedRun): Json {
  const applied = record?.applied ?? [];
  const appliedChanges = applied.length > 0 && limitResources(applied.map((each) => ({ ...each })));
  return {
    address: row.address,
    started_at: record?.startedAt.toISOString() ?? null,
    seconds: record?.seconds ?? null,
    mode: row.mode,
    result: record?.result ?? null,
    why: record?.why ?? null,
    who: row.asked?.by ?? null,
    commit: row.commit ?? null,
    plan_id: plan !== undefined && plan.is !== 'unnecessary' ? plan.id : null,
    process: record?.process ?? null,
    summary: { ...summary, ...appliedChanges },
  };
}
