import { UserError } from '../../problems/user-error.ts';
import type { FleetDatabase, FleetStatements } from '../database/fleet-database.ts';
import { FLEET_SCHEMA } from '../database/fleet-tables.ts';

const S = FLEET_SCHEMA;

/** The maximum number of concurrent comparisons in all processes together. */
const MAX_CONCURRENT = 4;
/** The maximum number of stored comparisons per workspace. */
const MAX_STORED = 5;

/** A requested comparison of the versions of a resource, based on the calls of each version. */
export interface Comparison {
  readonly resource: string;
  readonly askedAt: Date;
  readonly askedBy: string;
  readonly isRunning: boolean;
  /** The result as HTML without secrets; undefined until it is complete, and after a failure. */
  readonly html: string | undefined;
  readonly problem: string | undefined;
}

export interface ComparisonRequest {
  readonly address: string;
  readonly resource: string;
  readonly by: string;
}

interface ComparisonClaim extends ComparisonRequest {
  readonly baseUrl: string;
  /** Milliseconds after which the comparison counts as failed. */
  readonly timeout: number;
}

/**
 * Registers a comparison. All processes together run at most one comparison per platform at a time.
 * @returns the claim to pass to `storeComparison`.
 * @throws UserError if too many comparisons are in progress.
 */
export function claimComparison(
  { atomically }: FleetDatabase,
  { address, resource, baseUrl, by, timeout }: ComparisonClaim,
): Promise<string> {
  return atomically(async ({ query }) => {
    await query(`SELECT pg_advisory_xact_lock(hashtext('voxform'), hashtext('comparisons'))`);
    const [running] = await query(
      `SELECT count(*)::integer AS all, count(*) FILTER (WHERE base_url = $1)::integer AS same FROM ${S}.comparisons WHERE until > now()`,
      baseUrl,
    );
    if (Number(running?.same) > 0)
      throw new UserError(
        'Calls of this platform are already being read. Try again when that comparison has finished.',
      );
    if (Number(running?.all) >= MAX_CONCURRENT)
      throw new UserError(
        `Calls of ${MAX_CONCURRENT} platforms are already being read. Try again when one comparison has finished.`,
      );
    const [row] = await query(
      `INSERT INTO ${S}.comparisons AS c (address, resource, base_url, asked_at, asked_by, until)
VALUES ($1, $2, $3, now(), $4, now() + $5 * interval '1 millisecond')
ON CONFLICT (address, resource) DO UPDATE SET base_url = excluded.base_url, asked_at = now(), asked_by = excluded.asked_by,
  until = excluded.until, html = NULL, problem = NULL RETURNING asked_at::text`,
      address,
      resource,
      baseUrl,
      by,
      timeout,
    );
    await query(
      `DELETE FROM ${S}.comparisons WHERE address = $1 AND resource NOT IN
  (SELECT resource FROM ${S}.comparisons WHERE address = $1 ORDER BY asked_at DESC LIMIT ${MAX_STORED})`,
      address,
    );
    return String(row?.asked_at);
  });
}

/** Stores the result of a comparison, unless the comparison was requested again in the meantime. */
export async function storeComparison(
  { query }: FleetStatements,
  { address, resource, claim }: { readonly address: string; readonly resource: string; readonly claim: string },
  { html, problem }: { readonly html?: string; readonly problem?: string },
): Promise<void> {
  await query(
    `UPDATE ${S}.comparisons SET until = NULL, html = $4, problem = $5 WHERE address = $1 AND resource = $2 AND asked_at = $3::timestamptz`,
    address,
    resource,
    claim,
    html ?? null,
    problem ?? null,
  );
}

export async function comparisonsOf({ query }: FleetStatements, address: string): Promise<readonly Comparison[]> {
  const rows = await query(
    `SELECT resource, asked_at, asked_by, html, problem, until > now() AS running FROM ${S}.comparisons WHERE address = $1 ORDER BY asked_at DESC`,
    address,
  );
  return rows.map(({ resource, asked_at: askedAt, asked_by: askedBy, html, problem, running }) => ({
    resource: String(resource),
    askedAt: askedAt as Date,
    askedBy: String(askedBy),
    isRunning: running === true,
    html: html === null ? undefined : String(html),
    problem: problem === null ? undefined : String(problem),
  }));
}
