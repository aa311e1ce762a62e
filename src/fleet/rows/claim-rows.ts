import { UserError } from '../../problems/user-error.ts';
import type { DatabaseRow } from '../../state/backends/postgres/database.ts';
import type { FleetStatements } from '../database/fleet-database.ts';
import { FLEET_SCHEMA } from '../database/fleet-tables.ts';

const S = FLEET_SCHEMA;

/** The claim of a run or a command on a workspace of the platform. */
export interface WorkspaceClaim {
  readonly address: string;
  /** The id of the job or of the command. */
  readonly holder: string;
  readonly workspaceId: string;
  /** The normalized base URL. */
  readonly baseUrl: string;
}

interface ClaimTerms {
  /** Milliseconds after which a claim expires. */
  readonly expiry: number;
  /** True to correct the id and base URL in the row of the workspace. The stored values may come from another environment. */
  readonly corrects: boolean;
}

/**
 * Claims a workspace or renews the claim in one statement, so that only one of several simultaneous claims under different addresses
 * succeeds. Several claims under one address all succeed, because the state lock is sufficient for them.
 * @throws UserError if another address has the same workspace.
 */
export async function claimWorkspace(
  { query }: FleetStatements,
  { address, holder, workspaceId, baseUrl }: WorkspaceClaim,
  { expiry, corrects }: ClaimTerms,
): Promise<void> {
  const workspace = [address, workspaceId, baseUrl];
  // ON CONFLICT also detects a claim that is committed after the start of this statement.
  const [claimed] = await query(
    `WITH corrected AS (UPDATE ${S}.workspaces SET workspace_id = $2, base_url = $3
  WHERE $6 AND address = $1 AND (workspace_id, base_url) IS DISTINCT FROM ($2, $3))
INSERT INTO ${S}.claims AS c (address, workspace_id, base_url, holders, until)
VALUES ($1, $2, $3, ARRAY[$4], now() + $5 * interval '1 millisecond')
ON CONFLICT (workspace_id, base_url) DO UPDATE SET address = excluded.address, until = greatest(c.until, excluded.until),
  holders = CASE WHEN c.until < now() THEN excluded.holders ELSE array_remove(c.holders, $4) || excluded.holders END
WHERE c.address = excluded.address OR c.until < now()
RETURNING ${conflictColumns({ address: '$1', workspaceId: '$2', baseUrl: '$3' })}`,
    ...workspace,
    holder,
    expiry,
    corrects,
  );
  if (claimed !== undefined) {
    const conflict = conflictOf(address, claimed);
    if (conflict !== undefined) throw conflict;
    return;
  }
  const [other] = await query(OTHER_CLAIM, ...workspace);
  throw inUseError(address, String(other?.address ?? 'another address'));
}

const OTHER_CLAIM = `SELECT address FROM ${S}.claims WHERE workspace_id = $2 AND base_url = $3 AND address <> $1`;
const HINT = 'Correct workspace_id in one of the projects, or remove that workspace.';

/**
 * Returns the SQL columns that {@link conflictOf} reads: the addresses of other workspaces with the same id and base URL, and the reason
 * why one of them must not run because of this workspace. Each property is the SQL expression for that part of the workspace.
 */
export function conflictColumns({
  address,
  workspaceId,
  baseUrl,
}: Record<'address' | 'workspaceId' | 'baseUrl', string>): string {
  const twins = `FROM ${S}.workspaces o WHERE o.workspace_id = ${workspaceId} AND o.base_url = ${baseUrl}
    AND o.address <> ${address} AND o.vanished_at IS NULL`;
  return `(SELECT string_agg(o.address, ' and ' ORDER BY o.address) ${twins}) AS twins,
  (SELECT min(o.refused) ${twins} AND strpos(o.refused, regexp_replace(${address}, ':[^:]*$', ' ')) > 0) AS refused_twin`;
}

/** Returns the error for a workspace that must not run, for example because another address has the same workspace. */
export function conflictOf(address: string, { refused, refused_twin, twins }: DatabaseRow): UserError | undefined {
  const reason = refused ?? refused_twin ?? null;
  if (reason !== null)
    return new UserError(String(reason), {
      hint: 'Each manifest must belong to one project: narrow manifests in voxform.yaml, or projects in fleet.yaml.',
    });
  if (twins === null) return undefined;
  return new UserError(`${address} and ${twins} are the same workspace of the platform; none of them runs`, {
    hint: HINT,
  });
}

function inUseError(address: string, twin: string): UserError {
  return new UserError(`${address} and ${twin} are the same workspace of the platform, which is in use under ${twin}`, {
    hint: HINT,
  });
}

/** Renews the claims of these holders. */
export async function renewWorkspaces(
  { query }: FleetStatements,
  holders: readonly string[],
  expiry: number,
): Promise<void> {
  if (holders.length === 0) return;
  await query(
    `UPDATE ${S}.claims SET until = greatest(until, now() + $2 * interval '1 millisecond') WHERE holders && $1::text[]`,
    holders,
    expiry,
  );
}

/** Releases the claims of these holders. A claim that also has other holders remains. */
export async function releaseWorkspaces({ query }: FleetStatements, holders: readonly string[]): Promise<void> {
  await query(
    `WITH ended AS (DELETE FROM ${S}.claims WHERE holders <@ $1::text[])
UPDATE ${S}.claims SET holders = ARRAY(SELECT h FROM unnest(holders) AS h WHERE h <> ALL ($1::text[]))
WHERE holders && $1::text[] AND NOT holders <@ $1::text[]`,
    holders,
  );
}
