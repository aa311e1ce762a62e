/* The tables. Changing them requires a migration that keeps stored rows valid. */

/** The version of the `state` part of the schema. */
export const SCHEMA_VERSION = 1;

/** The minimum version of PostgreSQL. All tests of this backend pass with it. */
export const MIN_SERVER = { version: 130_000, name: '13' };

/** All tables of the schema, `schema_version` first. */
export const TABLES = ['schema_version', 'states', 'journal', 'history', 'earlier'] as const;

/** Returns an SQL expression for the workspace id, which is in the last lines of a document. */
export function workspaceIn(document: string): string {
  return `substring(right(${document}, 400) from '"workspace_id": "([^"]*)"')`;
}

/** Returns the statement that creates the index for finding other states of a workspace. */
export function workspaceIndex(schema: string): string {
  return `CREATE INDEX IF NOT EXISTS states_workspace ON ${schema}.states ((${workspaceIn('state')}));`;
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Returns the statements with which a first run creates the tables in one transaction. @param exists true if the schema exists. */
export function setUpStatements(schema: string, exists: boolean): string {
  return `SELECT pg_advisory_xact_lock(hashtext('voxform'), hashtext('${schema.replaceAll("'", "''")}'));
${exists ? '' : `CREATE SCHEMA ${quoted(schema)};\n`}${tables(quoted(schema))}`;
}

/** Returns the statements for an administrator. They create the tables, and grant access to `role`. */
export function setUpScript(schema: string, role: string): string {
  const name = quoted(schema);
  return `BEGIN;
CREATE SCHEMA IF NOT EXISTS ${name};
${tables(name)}
GRANT USAGE ON SCHEMA ${name} TO ${quoted(role)};
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${name} TO ${quoted(role)};
COMMIT;
`;
}

function tables(schema: string): string {
  return `CREATE TABLE ${schema}.schema_version (part text PRIMARY KEY, version integer NOT NULL);
CREATE TABLE ${schema}.states (
  name text PRIMARY KEY,
  epoch bigint NOT NULL DEFAULT 1,
  revision bigint NOT NULL DEFAULT 1,
  write text NOT NULL,
  generation text NOT NULL,
  state text,
  lock json,
  heard timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 50);
COMMENT ON COLUMN ${schema}.states.epoch IS 'Incremented when a run takes the lock.';
COMMENT ON COLUMN ${schema}.states.revision IS 'Incremented by each write.';
COMMENT ON COLUMN ${schema}.states.generation IS 'The last write that stored the document or emptied the journal.';
COMMENT ON COLUMN ${schema}.states.heard IS 'The time of the last heartbeat of the lock holder.';
CREATE TABLE ${schema}.journal (
  name text NOT NULL REFERENCES ${schema}.states ON DELETE CASCADE,
  revision bigint NOT NULL,
  nth integer NOT NULL,
  line text NOT NULL,
  PRIMARY KEY (name, revision, nth)
);
CREATE TABLE ${schema}.history (
  name text NOT NULL REFERENCES ${schema}.states ON DELETE CASCADE,
  revision bigint NOT NULL,
  line text NOT NULL,
  PRIMARY KEY (name, revision)
);
CREATE TABLE ${schema}.earlier (
  name text NOT NULL REFERENCES ${schema}.states ON DELETE CASCADE,
  revision bigint NOT NULL,
  stored timestamptz NOT NULL DEFAULT clock_timestamp(),
  state text NOT NULL,
  PRIMARY KEY (name, revision)
);
${workspaceIndex(schema)}
INSERT INTO ${schema}.schema_version VALUES ('state', ${SCHEMA_VERSION});`;
}
