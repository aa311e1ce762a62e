import { UserError } from '../../problems/user-error.ts';
import type { FleetStatements } from '../database/fleet-database.ts';
import { FLEET_SCHEMA } from '../database/fleet-tables.ts';

const S = FLEET_SCHEMA;

/** A workspace of the platform that a run or a command is about to use. */
export interface WorkspaceClaim {
  readonly address: string;
  /** The id of the job or of the command. */
  readonly holder: string;
  readonly workspaceId: string;
  /** Normalized. */
  readonly baseUrl: string;
}

interface ClaimTerms {
  /** Milliseconds after which a claim expires. */
  readonly patience: number;
  /** True if the row of the workspace gets the id and base URL of this claim. Another environment or newer manifests may differ. */
  readonly corrects: boolean;
}

/**
 * Claims the workspace or renews the claim in one statement, so that of several simultaneous claims under different addresses one
 * succeeds. Under one address, the lock of the state is sufficient.
 * @throws UserError if another address has the same workspace.
 */
export async function claimWorkspace(
  { ask }: FleetStatements,
  { address, holder, workspaceId, baseUrl }: WorkspaceClaim,
  { patience, corrects }: ClaimTerms,
): Promise<void> {
  const identity = [address, workspaceId, baseUrl];
  // A claim that is committed after the start of this statement still conflicts with it.
  const [claimed] = await ask(
    `WITH corrected AS (UPDATE ${S}.workspaces SET workspace_id = $2, base_url = $3
  WHERE $6 AND address = $1 AND (workspace_id, base_url) IS DISTINCT FROM ($2, $3))
INSERT INTO ${S}.claims AS c (address, workspace_id, base_url, holders, until)
VALUES ($1, $2, $3, ARRAY[$4], now() + $5 * interval '1 millisecond')
ON CONFLICT (workspace_id, base_url) DO UPDATE SET address = excluded.address, until = greatest(c.until, excluded.until),
  holders = CASE WHEN c.until < now() THEN excluded.holders ELSE array_remove(c.holders, $4) || excluded.holders END
WHERE c.address = excluded.address OR c.until < now()
RETURNING (${TWINS}) AS twins`,
    ...identity,
    holder,
    patience,
    corrects,
  );
  if (claimed?.twins === null) return;
  if (claimed !== undefined) throw sameWorkspace(address, String(claimed.twins));
  const [other] = await ask(HOLDER, ...identity);
  throw inUse(address, String(other?.address ?? 'another address'));
}

const TWINS = `SELECT string_agg(w.address, ' and ' ORDER BY w.address) FROM ${S}.workspaces w
  WHERE w.workspace_id = $2 AND w.base_url = $3 AND w.address <> $1 AND w.vanished_at IS NULL`;
const HOLDER = `SELECT address FROM ${S}.claims WHERE workspace_id = $2 AND base_url = $3 AND address <> $1`;
const HINT = 'Correct workspace_id in the project of one, or remove it.';

/** @param twins addresses. */
export function sameWorkspace(address: string, twins: string): UserError {
  return new UserError(`${address} and ${twins} are the same workspace of the platform; none of them runs`, {
    hint: HINT,
  });
}

function inUse(address: string, twin: string): UserError {
  return new UserError(
    `${address} and ${twin} are the same workspace of the platform, which is in use under ${twin}`,
    { hint: HINT },
  );
}

/** Renews the claims of runs in progress. */
export async function renewWorkspaces(
  { ask }: FleetStatements,
  holders: readonly string[],
  patience: number,
): Promise<void> {
  if (holders.length === 0) return;
  await ask(
    `UPDATE ${S}.claims SET until = greatest(until, now() + $2 * interval '1 millisecond') WHERE holders && $1::text[]`,
    holders,
    patience,
  );
}

/** Ends the claims of these holders. A claim with other holders stays. */
export async function releaseWorkspaces({ ask }: FleetStatements, holders: readonly string[]): Promise<void> {
  await ask(
    `WITH ended AS (DELETE FROM ${S}.claims WHERE holders <@ $1::text[])
UPDATE ${S}.claims SET holders = ARRAY(SELECT h FROM unnest(holders) AS h WHERE h <> ALL ($1::text[]))
WHERE holders && $1::text[] AND NOT holders <@ $1::text[]`,
    holders,
  );
}
