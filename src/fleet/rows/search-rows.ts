import { kinds } from '../../kinds/index.ts';
import { type WorkspaceStatus, workspaceStatuses } from '../../operator/workspace-status.ts';
import type { FleetStatements } from '../database/fleet-database.ts';
import { FLEET_SCHEMA } from '../database/fleet-tables.ts';
import { beginsWith } from './search-terms.ts';
import { SHOWN_STATUS } from './status-rows.ts';

const S = FLEET_SCHEMA;

export interface SearchHit {
  readonly address: string;
  readonly status: WorkspaceStatus;
  /** The address of the resource; undefined if the workspace itself was found. */
  readonly resource: string | undefined;
  /** The name, number or id that matches, in lower case. */
  readonly match: string;
}

/**
 * Finds workspaces and resources by name, id or natural key. The text must be a prefix of one of these, or of a word in one of these. Exact
 * matches come first, then the other matches. Both are sorted by the urgency of the status.
 * @param maxTerms the maximum number of terms to read.
 */
export async function searchTerms(
  { query }: FleetStatements,
  text: string,
  maxTerms: number,
): Promise<{ readonly hits: readonly SearchHit[]; readonly isTruncated: boolean }> {
  const { kind, name } = resourceIn(text);
  const prefixes = [...new Set([name.toLowerCase(), ...phoneNumberIn(name)])];
  const rows = await query(
    `WITH found AS MATERIALIZED (SELECT f.* FROM unnest($1::text[]) AS prefix, LATERAL (
  SELECT address, resource, term, term = prefix AS is_whole FROM ${S}.search_terms
  WHERE ${beginsWith('term', 'prefix')} ORDER BY term USING ~<~ LIMIT $2) AS f),
hits AS (SELECT address, resource, min(term) AS term, bool_or(is_whole) AS is_whole FROM found
  WHERE $3::text = '' OR starts_with(resource, $3 || '/') GROUP BY address, resource)
SELECT address, resource, status, (SELECT count(*) FROM found) AS number, (SELECT t.term FROM ${S}.search_terms t
  WHERE t.address = h.address AND t.resource = h.resource AND right(t.term, length(h.term)) = h.term ORDER BY length(t.term) DESC LIMIT 1) AS match
FROM hits h JOIN (SELECT address, ${SHOWN_STATUS} AS status FROM ${S}.workspaces w) AS w USING (address)
ORDER BY is_whole DESC, array_position($4::text[], status), address, resource`,
    prefixes,
    maxTerms,
    kind,
    workspaceStatuses,
  );
  const hits = rows.map(({ address, resource, status, match }) => ({
    address: String(address),
    status: status as WorkspaceStatus,
    resource: resource === '' ? undefined : String(resource),
    match: String(match),
  }));
  return { hits, isTruncated: Number(rows[0]?.number ?? 0) >= maxTerms };
}

/** Splits the address of a resource into kind and name. For any other text, the kind is empty. */
function resourceIn(text: string): { readonly kind: string; readonly name: string } {
  const [, prefix = '', name = ''] = /^([a-z]+)\/(.+)$/i.exec(text) ?? [];
  const kind = [...kinds.keys()].find((each) => each.toLowerCase() === prefix.toLowerCase());
  return kind === undefined ? { kind: '', name: text } : { kind, name };
}

/** Returns a phone number's digits without leading zeros: `4930123456` for `+49 (30) 123456`. Returns an empty list for other texts. */
function phoneNumberIn(text: string): string[] {
  const digits = text.replaceAll(/[\s()./-]/g, '').replace(/^(?:\+|0{1,2})/, '');
  return /^\d{4,}$/.test(digits) ? [digits] : [];
}
