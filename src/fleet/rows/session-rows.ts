import type { FleetStatements } from '../database/fleet-database.ts';
import { FLEET_SCHEMA } from '../database/fleet-tables.ts';
import type { ListedToken } from './token-rows.ts';

const S = FLEET_SCHEMA;

/** Creates a session of a token that expires after some milliseconds. Ends expired sessions, and the token's oldest sessions above the limit. */
export async function addSession(
  { query }: FleetStatements,
  { digest, name, milliseconds }: { readonly digest: string; readonly name: string; readonly milliseconds: number },
  maxSessions: number,
): Promise<void> {
  await query(
    `WITH over AS (DELETE FROM ${S}.sessions WHERE until <= now()),
many AS (DELETE FROM ${S}.sessions WHERE digest IN
  (SELECT digest FROM ${S}.sessions WHERE name = $2 ORDER BY until DESC OFFSET $4))
INSERT INTO ${S}.sessions (digest, name, until) VALUES ($1, $2, now() + $3 * interval '1 millisecond')`,
    digest,
    name,
    milliseconds,
    maxSessions - 1,
  );
}

/** Returns the owner of a session with the current role of the token; undefined if the session does not exist or has expired. */
export async function personOfSession(
  { query }: FleetStatements,
  digest: string,
): Promise<Pick<ListedToken, 'name' | 'role'> | undefined> {
  const [row] = await query(
    `SELECT t.name, t.role FROM ${S}.sessions s JOIN ${S}.tokens t USING (name) WHERE s.digest = $1 AND s.until > now()`,
    digest,
  );
  return row && { name: String(row.name), role: row.role as ListedToken['role'] };
}

export async function removeSession({ query }: FleetStatements, digest: string): Promise<void> {
  await query(`DELETE FROM ${S}.sessions WHERE digest = $1`, digest);
}

/** Returns the key for form tokens. It is in the database, so that every process accepts the forms of all other processes. */
export async function formKey({ query }: FleetStatements): Promise<string> {
  const [row] = await query(`SELECT form_key FROM ${S}.schema_version WHERE part = 'fleet'`);
  return String(row?.form_key);
}
