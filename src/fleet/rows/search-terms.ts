import type { FleetStatements } from '../database/fleet-database.ts';
import { storableJson } from '../database/fleet-database.ts';
import { FLEET_SCHEMA } from '../database/fleet-tables.ts';

const S = FLEET_SCHEMA;

/** Text by which people find a resource. */
export interface SearchText {
  /** The address of the resource. */
  readonly resource: string;
  readonly text: string;
}

/** The greatest character: an upper bound for all texts with a prefix. */
const LAST = '\u{10ffff}';

/** The condition for a text with this prefix, so that the index of terms is used. */
export function beginsWith(text: string, prefix: string): string {
  return `${text} ~>=~ ${prefix} AND ${text} ~<~ (${prefix} || '${LAST}')`;
}

/** Replaces the terms of a workspace and its resources. */
export async function enterSearchTexts(
  statements: FleetStatements,
  address: string,
  texts: readonly SearchText[],
): Promise<void> {
  await statements.ask(`DELETE FROM ${S}.search_terms WHERE address = $1`, address);
  const all = [{ resource: '', text: address }, ...texts];
  await addTerms(
    statements,
    all.map((each) => ({ address, ...each })),
  );
}

/** Texts per statement, which must not take long. */
const AT_ONCE = 1000;

/** Adds the terms of new workspaces, before their first run. */
export async function enterNewWorkspaces(statements: FleetStatements, addresses: readonly string[]): Promise<void> {
  const rows = await statements.ask(
    `SELECT address FROM unnest($1::text[]) AS a (address) WHERE NOT EXISTS (SELECT FROM ${S}.search_terms t WHERE t.address = a.address)`,
    addresses,
  );
  const texts = rows.map((row) => ({ address: String(row.address), resource: '', text: String(row.address) }));
  for (let first = 0; first < texts.length; first += AT_ONCE)
    await addTerms(statements, texts.slice(first, first + AT_ONCE));
}

async function addTerms(
  { ask }: FleetStatements,
  texts: readonly (SearchText & { readonly address: string })[],
): Promise<void> {
  const terms = texts.flatMap(({ address, resource, text }) =>
    termsOf(text).map((term) => ({ address, resource, term })),
  );
  await ask(
    `INSERT INTO ${S}.search_terms (address, resource, term) SELECT address, resource, term
FROM json_to_recordset($1::json) AS t (address text, resource text, term text) ON CONFLICT DO NOTHING`,
    storableJson(terms),
  );
}

/** The text from the beginning of each of its words; a phone number from each digit on, up to its last four. */
function termsOf(text: string): string[] {
  const lower = text.toLowerCase();
  const words = [...lower.matchAll(/[/:\-_.@]/g)].map(({ index }) => index + 1);
  const parts = /^\d{7,}$/.test(lower) ? Array.from({ length: lower.length - 4 }, (_, index) => index + 1) : words;
  return [...new Set([0, ...parts].map((start) => lower.slice(start)).filter((term) => term !== ''))];
}
