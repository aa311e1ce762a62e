import type { FleetStatements } from '../database/fleet-database.ts';
import { storableJson } from '../database/fleet-database.ts';
import { FLEET_SCHEMA } from '../database/fleet-tables.ts';

const S = FLEET_SCHEMA;

/** A text by which people can find a resource. */
export interface SearchText {
  readonly resource: string;
  readonly text: string;
}

/** The character that sorts last. A prefix followed by this character sorts after every text with the prefix. */
const MAX_CHARACTER = '\u{10ffff}';

/** Returns the SQL condition that a text begins with a prefix. PostgreSQL can use the index of terms for this condition. */
export function beginsWith(text: string, prefix: string): string {
  return `${text} ~>=~ ${prefix} AND ${text} ~<~ (${prefix} || '${MAX_CHARACTER}')`;
}

/** Replaces the search terms of a workspace and its resources. */
export async function replaceSearchTerms(
  statements: FleetStatements,
  address: string,
  texts: readonly SearchText[],
): Promise<void> {
  await statements.query(`DELETE FROM ${S}.search_terms WHERE address = $1`, address);
  const all = [{ resource: '', text: address }, ...texts];
  await addTerms(
    statements,
    all.map((each) => ({ address, ...each })),
  );
}

/** Adds the search terms of workspaces without search terms, so that searches find the workspaces before their first run. */
export async function addWorkspaceTerms(statements: FleetStatements, addresses: readonly string[]): Promise<void> {
  const rows = await statements.query(
    `SELECT address FROM unnest($1::text[]) AS a (address) WHERE NOT EXISTS (SELECT FROM ${S}.search_terms t WHERE t.address = a.address)`,
    addresses,
  );
  await addTerms(
    statements,
    rows.map((row) => ({ address: String(row.address), resource: '', text: String(row.address) })),
  );
}

/** The maximum number of texts per statement, so that no statement takes long or needs much memory. */
const BATCH_SIZE = 1000;

async function addTerms(
  { query }: FleetStatements,
  texts: readonly (SearchText & { readonly address: string })[],
): Promise<void> {
  for (let first = 0; first < texts.length; first += BATCH_SIZE) {
    const terms = texts
      .slice(first, first + BATCH_SIZE)
      .flatMap(({ address, resource, text }) => termsOf(text).map((term) => ({ address, resource, term })));
    await query(
      `INSERT INTO ${S}.search_terms (address, resource, term) SELECT address, resource, term
FROM json_to_recordset($1::json) AS t (address text, resource text, term text) ON CONFLICT DO NOTHING`,
      storableJson(terms),
    );
  }
}

/** The maximum number of search terms of a text. An id may consist of separators alone, so that each character begins a term. */
const MAX_TERMS = 32;

/** Returns the search terms of a text: its suffixes from the start of a word; for a phone number, those with four digits or more. */
function termsOf(text: string): string[] {
  const lower = text.toLowerCase();
  const words = [...lower.matchAll(/[/:\-_.@]/g)].map(({ index }) => index + 1);
  const parts = /^\d{7,}$/.test(lower) ? Array.from({ length: lower.length - 4 }, (_, index) => index + 1) : words;
  const starts = [0, ...parts].slice(0, MAX_TERMS);
  return [...new Set(starts.map((start) => lower.slice(start)).filter((term) => term !== ''))];
}
