import { UserError } from '../../problems/user-error.ts';
import type { FleetDatabase, FleetStatements } from '../database/fleet-database.ts';
import { FLEET_SCHEMA } from '../database/fleet-tables.ts';

const S = FLEET_SCHEMA;

/** A workspace of the platform that a run is about to use. */
interface WorkspaceClaim {
  readonly address: string;
  /** Of the job. */
  readonly job: string;
  readonly workspaceId: string;
  /** Normalized. */
  readonly baseUrl: string;
}

/** Milliseconds after which a claim ends that its process does not renew: as for the job, before others take over. */
type Patience = number;

/**
 * Claims the workspace for one run, in one statement: of several processes that try it at the same moment, one succeeds. The row gets
 * what the run really uses, which a process with another environment, or with newer manifests, may have read otherwise.
 * @throws UserError where another address has the same workspace.
 */
export async function claimWorkspace(
  { ask }: FleetDatabase,
  { address, job, workspaceId, baseUrl }: WorkspaceClaim,
  patience: Patience,
): Promise<void> {
  const identity = [address, workspaceId, baseUrl];
  // What another process commits after this statement began has its claim in the way of this one.
  const [claimed] = await ask(
    `WITH corrected AS (UPDATE ${S}.workspaces SET workspace_id = $2, base_url = $3
  WHERE address = $1 AND (workspace_id, base_url) IS DISTINCT FROM ($2, $3))
INSERT INTO ${S}.claims AS c (address, workspace_id, base_url, job, until) VALUES ($1, $2, $3, $4, now() + $5 * interval '1 millisecond')
ON CONFLICT (workspace_id, base_url) DO UPDATE SET address = excluded.address, job = excluded.job, until = excluded.until
WHERE c.address = excluded.address OR c.until < now()
RETURNING (${TWINS}) AS twins`,
    ...identity,
    job,
    patience,
  );
  if (claimed?.twins === null) return;
  const [holder] = claimed === undefined ? await ask(HOLDER, ...identity) : [];
  throw sameWorkspace(address, String(claimed?.twins ?? holder?.address ?? 'another'));
}

const TWINS = `SELECT string_agg(w.address, ' and ' ORDER BY w.address) FROM ${S}.workspaces w
  WHERE w.workspace_id = $2 AND w.base_url = $3 AND w.address <> $1 AND w.vanished_at IS NULL`;
const HOLDER = `SELECT address FROM ${S}.claims WHERE workspace_id = $2 AND base_url = $3 AND address <> $1`;

/** @param twins addresses. */
export function sameWorkspace(address: string, twins: string): UserError {
  return new UserError(`${address} and ${twins} are the same workspace of the platform; none of them runs`, {
    hint: 'Correct workspace_id in the project of one, or remove it.',
  });
}

/** Says that the runs of these jobs are under way. */
export async function renewWorkspaces(
  { ask }: FleetStatements,
  jobs: readonly string[],
  patience: Patience,
): Promise<void> {
  if (jobs.length === 0) return;
  await ask(
    `UPDATE ${S}.claims SET until = now() + $2 * interval '1 millisecond' WHERE job = ANY ($1::text[])`,
    jobs,
    patience,
  );
}

/** Gives back the workspaces of runs that ended. */
export async function releaseWorkspaces({ ask }: FleetStatements, jobs: readonly string[]): Promise<void> {
  await ask(`DELETE FROM ${S}.claims WHERE job = ANY ($1::text[])`, jobs);
}
