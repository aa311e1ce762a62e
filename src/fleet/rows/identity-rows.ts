import type { FleetStatements } from '../database/fleet-database.ts';
import { FLEET_SCHEMA } from '../database/fleet-tables.ts';

const S = FLEET_SCHEMA;

interface NewIdentitySession {
  readonly digest: string;
  readonly issuer: string;
  readonly subject: string;
  readonly name: string;
  readonly groups: readonly string[];
  readonly idToken: string;
  /** The duration of the session in milliseconds. */
  readonly milliseconds: number;
}

/** Starts a session of a person who signed in with a provider. Ends expired sessions, and the person's oldest sessions above the limit. */
export async function addIdentitySession(
  { query }: FleetStatements,
  { digest, issuer, subject, name, groups, idToken, milliseconds }: NewIdentitySession,
  maxSessions: number,
): Promise<void> {
  await query(
    `WITH over AS (DELETE FROM ${S}.identity_sessions WHERE until <= now()),
many AS (DELETE FROM ${S}.identity_sessions WHERE digest IN
  (SELECT digest FROM ${S}.identity_sessions WHERE issuer = $2 AND subject = $3 ORDER BY until DESC OFFSET $8))
INSERT INTO ${S}.identity_sessions (digest, issuer, subject, name, groups, id_token, until)
VALUES ($1, $2, $3, $4, $5::json, $6, now() + $7 * interval '1 millisecond')`,
    digest,
    issuer,
    subject,
    name,
    JSON.stringify(groups),
    idToken,
    milliseconds,
    maxSessions - 1,
  );
}

export async function identityOfSession(
  { query }: FleetStatements,
  { digest, issuer }: Pick<NewIdentitySession, 'digest' | 'issuer'>,
): Promise<Pick<NewIdentitySession, 'subject' | 'name' | 'groups'> | undefined> {
  const [row] = await query(
    `SELECT subject, name, groups FROM ${S}.identity_sessions WHERE digest = $1 AND issuer = $2 AND until > now()`,
    digest,
    issuer,
  );
  return row && { subject: String(row.subject), name: String(row.name), groups: row.groups as readonly string[] };
}

/** Removes a session. Returns its ID token, if the session existed. */
export async function removeIdentitySession({ query }: FleetStatements, digest: string): Promise<string | undefined> {
  const [row] = await query(`DELETE FROM ${S}.identity_sessions WHERE digest = $1 RETURNING id_token`, digest);
  return row && String(row.id_token);
}
