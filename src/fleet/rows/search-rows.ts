import type { WorkspaceStatus } from '../../operator/workspace-status.ts';
import type { FleetStatements } from '../database/fleet-database.ts';
import { FLEET_SCHEMA } from '../database/fleet-tables.ts';
import { SHOWN } from './status-rows.ts';

const S = FLEET_SCHEMA;

export interface SearchHit {
  /** The address of the workspace. */
  readonly address: string;
  readonly status: WorkspaceStatus;
  /** Undefined if the workspace itself was found. */
  readonly resource: string | undefined;
}

/** The greatest character: an upper bound for all texts with a prefix. */
const LAST = '\u{10ffff}';

/**
 * Workspaces and resources with a name, an id or a natural key that begins with this text, or with a part of it that does.
 * @param most the maximum number of terms to read.
 */
export async function searchTerms(
  { ask }: FleetStatements,
  text: string,
  most: number,
): Promise<{ readonly hits: readonly SearchHit[]; readonly isCut: boolean }> {
  const prefixes = [...new Set([text.toLowerCase(), ...phoneNumberIn(text)])];
  const rows = await ask(
    `WITH found AS MATERIALIZED (SELECT f.* FROM unnest($1::text[]) AS prefix, LATERAL (
  SELECT address, resource FROM ${S}.search_terms WHERE term ~>=~ prefix AND term ~<~ (prefix || '${LAST}') ORDER BY term USING ~<~ LIMIT $2) AS f)
SELECT DISTINCT f.address, f.resource, ${SHOWN} AS status, (SELECT count(*) FROM found) AS number
FROM found f JOIN ${S}.workspaces w ON w.address = f.address ORDER BY f.address, f.resource`,
    prefixes,
    most,
  );
  const hits = rows.map(({ address, resource, status }) => ({
    address: String(address),
    status: status as WorkspaceStatus,
    resource: resource === '' ? undefined : String(resource),
  }));
  return { hits, isCut: Number(rows[0]?.number ?? 0) >= most };
}

/** `4930123456` in `+49 (30) 123456` and `0049 30 123456`; `30123456` in `030 123456`. */
function phoneNumberIn(text: string): string[] {
  const digits = text.replaceAll(/[\s()./-]/g, '').replace(/^(?:\+|0{1,2})/, '');
  return /^\d{4,}$/.test(digits) ? [digits] : [];
}
