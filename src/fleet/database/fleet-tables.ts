import { setUpStatements as stateTables, workspaceIndex } from '../../state/backends/postgres/schema-sql.ts';

/** The database schema for the fleet's tables and the states of its workspaces. */
export const FLEET_SCHEMA = 'voxform_fleet';

/** The database schema for the tables of pg-boss. */
export const QUEUE_SCHEMA = 'voxform_queue';

/** A migration of the tables. It must preserve stored data. */
export interface SchemaStep {
  readonly statements: string;
  /** The oldest schema version whose processes can still use the tables after this migration. */
  readonly compatibleFrom: number;
}

/** The tables of the fleet, in addition to the state tables, which include `schema_version`. */
export const FLEET_TABLES = [
  'sources',
  'workspaces',
  'plans',
  'runs',
  'processes',
  'documents',
  'tokens',
  'sessions',
  'identity_sessions',
  'comparisons',
  'claims',
  'pulls',
  'pull_plans',
  'freezes',
  'trends',
  'search_terms',
] as const;

/** All migrations in order. No index contains a column of `workspaces` that every run writes, so that updates stay within a page. */
export const schemaSteps: readonly SchemaStep[] = [
  {
    compatibleFrom: 1,
    statements: `${stateTables(FLEET_SCHEMA, true)}

CREATE TABLE sources (
  name text PRIMARY KEY,
  shown text NOT NULL,
  commit text,
  fetched_at timestamptz,
  problem text,
  warnings json,
  digest text,
  next_fetch timestamptz NOT NULL DEFAULT now(),
  seq bigint NOT NULL DEFAULT 0
);
COMMENT ON COLUMN sources.digest IS 'Digest of the discovered contents. The rows of workspaces change only if it changes.';
COMMENT ON COLUMN sources.seq IS 'Incremented when a process starts a fetch and when it ends. Only the process with the current number may store its result.';
CREATE TABLE workspaces (
  address text PRIMARY KEY,
  source text NOT NULL,
  project text NOT NULL,
  workspace text NOT NULL,
  workspace_id text,
  base_url text,
  mode text NOT NULL,
  interval_ms bigint NOT NULL,
  version text NOT NULL,
  commit text,
  good_version text,
  good_commit text,
  problem text,
  refused text,
  vanished_at timestamptz,
  paused_at timestamptz,
  paused_by text,
  paused_because text,
  due_at timestamptz NOT NULL,
  asked_at timestamptz,
  asked_why text,
  asked_by text,
  failures integer NOT NULL DEFAULT 0,
  status text NOT NULL DEFAULT 'never-run',
  status_since timestamptz NOT NULL DEFAULT now(),
  checked_at timestamptz,
  last jsonb
) WITH (fillfactor = 70);
COMMENT ON COLUMN workspaces.last IS 'The results of the last runs. Those about the platform come from the last run that read it.';
COMMENT ON COLUMN workspaces.checked_at IS 'Start of the last run that read the platform.';
CREATE INDEX workspaces_due ON workspaces (due_at) WHERE paused_at IS NULL AND vanished_at IS NULL;
CREATE INDEX workspaces_identity ON workspaces (workspace_id, base_url);
CREATE INDEX workspaces_source ON workspaces (source, project);
CREATE TABLE plans (
  address text NOT NULL REFERENCES workspaces ON DELETE CASCADE,
  id text NOT NULL,
  digest text NOT NULL,
  plan json NOT NULL,
  made_at timestamptz NOT NULL DEFAULT now(),
  state text NOT NULL DEFAULT 'waiting',
  decided_by text,
  decided_at timestamptz,
  PRIMARY KEY (address, id)
);
COMMENT ON COLUMN plans.state IS 'waiting, approved, rejected, stale or applied. left: the plan of the remaining actions. outside: a summary of a state elsewhere.';
CREATE UNIQUE INDEX plans_open ON plans (address) WHERE state IN ('waiting', 'approved');
CREATE TABLE runs (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  address text NOT NULL,
  started_at timestamptz NOT NULL,
  seconds double precision NOT NULL,
  mode text NOT NULL,
  result text NOT NULL,
  why text,
  who text,
  commit text,
  plan_id text,
  process text NOT NULL,
  summary json NOT NULL
);
CREATE INDEX runs_of ON runs (address, id);
CREATE INDEX runs_started ON runs (started_at);
CREATE TABLE processes (
  id text PRIMARY KEY,
  host text NOT NULL,
  pid integer NOT NULL,
  version text NOT NULL,
  since timestamptz NOT NULL DEFAULT now(),
  heard_at timestamptz NOT NULL DEFAULT now(),
  ending boolean NOT NULL DEFAULT false,
  slots integer NOT NULL,
  runs json NOT NULL DEFAULT '[]'
);
CREATE TABLE notified (
  address text NOT NULL REFERENCES workspaces ON DELETE CASCADE,
  key text NOT NULL,
  digest text NOT NULL,
  PRIMARY KEY (address, key)
);
CREATE TABLE tokens (
  name text PRIMARY KEY,
  role text NOT NULL,
  salt text NOT NULL,
  hash text NOT NULL,
  made_at timestamptz NOT NULL DEFAULT now(),
  made_by text NOT NULL
);
COMMENT ON COLUMN tokens.hash IS 'A slow hash, so that the token cannot be found from it.';
CREATE TABLE sessions (
  digest text PRIMARY KEY,
  name text NOT NULL REFERENCES tokens ON DELETE CASCADE,
  until timestamptz NOT NULL
);
COMMENT ON COLUMN sessions.digest IS 'Digest of the session id, which only the browser has.';
CREATE INDEX sessions_name ON sessions (name, until);`,
  },
  { compatibleFrom: 1, statements: workspaceIndex(FLEET_SCHEMA) },
  { compatibleFrom: 1, statements: 'ALTER TABLE sources ADD COLUMN broken json' },
  {
    compatibleFrom: 1,
    statements: `CREATE TABLE comparisons (
  address text NOT NULL REFERENCES workspaces ON DELETE CASCADE,
  resource text NOT NULL,
  base_url text NOT NULL,
  asked_at timestamptz NOT NULL,
  asked_by text NOT NULL,
  until timestamptz,
  html text,
  problem text,
  PRIMARY KEY (address, resource)
);
COMMENT ON COLUMN comparisons.until IS 'Deadline of the comparison in progress; NULL when it has ended.'`,
  },
  {
    compatibleFrom: 1,
    statements: `ALTER TABLE schema_version ADD COLUMN form_key text NOT NULL DEFAULT gen_random_uuid()::text || gen_random_uuid()::text`,
  },
  {
    compatibleFrom: 1,
    statements: `CREATE TABLE claims (
  workspace_id text NOT NULL,
  base_url text NOT NULL,
  address text NOT NULL,
  holders text[] NOT NULL,
  until timestamptz NOT NULL,
  PRIMARY KEY (workspace_id, base_url)
);
COMMENT ON TABLE claims IS 'Workspaces of the platform that are in use, each under one address.';
COMMENT ON COLUMN claims.holders IS 'Ids of jobs and of fleet exec commands.'`,
  },
  {
    compatibleFrom: 1,
    statements: `ALTER TABLE sources ADD COLUMN identity text;
COMMENT ON COLUMN sources.identity IS 'The repository or folder and the patterns that the name stands for in the fleet file.';
ALTER TABLE processes ADD COLUMN sources json`,
  },
  {
    compatibleFrom: 1,
    statements: `ALTER TABLE sources ADD COLUMN wanted boolean NOT NULL DEFAULT false, ADD COLUMN fetching boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN sources.wanted IS 'True if an event of the code host arrived after the last fetch started.';
COMMENT ON COLUMN sources.fetching IS 'True during a fetch. An event during a fetch starts no other fetch until it has ended.'`,
  },
  {
    compatibleFrom: 1,
    statements: `ALTER TABLE sources ADD COLUMN pulls_problem text;
COMMENT ON COLUMN sources.pulls_problem IS 'The reason why its pull requests cannot be listed.';
CREATE TABLE pulls (
  source text NOT NULL REFERENCES sources (name) ON DELETE CASCADE,
  number integer NOT NULL,
  url text NOT NULL,
  title text NOT NULL,
  author text NOT NULL,
  base text NOT NULL,
  branch text NOT NULL,
  head text NOT NULL,
  is_fork boolean NOT NULL,
  state text NOT NULL,
  merged_as text,
  since timestamptz NOT NULL DEFAULT now(),
  planned_head text,
  planned_at timestamptz,
  failures integer NOT NULL DEFAULT 0,
  problem text,
  work_at timestamptz,
  holder text,
  until timestamptz,
  PRIMARY KEY (source, number)
);
COMMENT ON COLUMN pulls.since IS 'When the fleet first saw this state.';
COMMENT ON COLUMN pulls.planned_head IS 'The commit whose plans are complete and were reported to the code host.';
COMMENT ON COLUMN pulls.work_at IS 'When a process must plan it or compare its plans with those after the merge; NULL for never.';
CREATE INDEX pulls_work ON pulls (work_at) WHERE work_at IS NOT NULL;
CREATE TABLE pull_plans (
  source text NOT NULL,
  number integer NOT NULL,
  address text NOT NULL,
  head text NOT NULL,
  result text NOT NULL,
  digest text,
  plan json,
  details json NOT NULL,
  made_at timestamptz NOT NULL DEFAULT now(),
  outcome text,
  approved boolean NOT NULL DEFAULT false,
  PRIMARY KEY (source, number, address),
  FOREIGN KEY (source, number) REFERENCES pulls ON DELETE CASCADE
);
COMMENT ON COLUMN pull_plans.digest IS 'A plan after the merge with this digest needs no other approval. NULL if it always needs one.';
COMMENT ON COLUMN pull_plans.outcome IS 'The result of the plan after the merge.';
CREATE INDEX pull_plans_address ON pull_plans (address)`,
  },
  {
    compatibleFrom: 1,
    statements: `CREATE TABLE freezes (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT now(),
  by text NOT NULL,
  because text NOT NULL,
  ended_at timestamptz,
  ended_by text,
  told text
);
COMMENT ON COLUMN freezes.told IS 'The last event sent to the webhooks of the fleet: frozen or resumed.';
COMMENT ON TABLE freezes IS 'While a freeze has not ended, no process writes to a platform.';
CREATE UNIQUE INDEX freezes_current ON freezes ((ended_at IS NULL)) WHERE ended_at IS NULL`,
  },
  {
    compatibleFrom: 1,
    statements: `CREATE TABLE trends (
  at timestamptz NOT NULL,
  shard integer NOT NULL,
  runs integer NOT NULL,
  failed integer NOT NULL,
  drifted integer NOT NULL,
  PRIMARY KEY (at, shard)
);
COMMENT ON TABLE trends IS 'Finished runs per hour. The sum over the shards is the number.'`,
  },
  {
    compatibleFrom: 1,
    statements: `CREATE TABLE search_terms (
  address text NOT NULL REFERENCES workspaces ON DELETE CASCADE,
  resource text NOT NULL,
  term text NOT NULL,
  PRIMARY KEY (address, resource, term)
);
COMMENT ON COLUMN search_terms.resource IS 'Empty for a term of the workspace itself.';
CREATE INDEX search_terms_term ON search_terms (term text_pattern_ops)`,
  },
  {
    compatibleFrom: 1,
    statements: `CREATE TABLE identity_sessions (
  digest text PRIMARY KEY,
  issuer text NOT NULL,
  subject text NOT NULL,
  name text NOT NULL,
  groups json NOT NULL,
  id_token text NOT NULL,
  until timestamptz NOT NULL
);
COMMENT ON TABLE identity_sessions IS 'Sessions of people who signed in with an OpenID Connect provider.';
COMMENT ON COLUMN identity_sessions.digest IS 'Digest of the session id, which only the browser has.';
COMMENT ON COLUMN identity_sessions.id_token IS 'Encrypted with the session id. Used to sign out at the provider.';
CREATE INDEX identity_sessions_subject ON identity_sessions (issuer, subject, until)`,
  },
  { compatibleFrom: 1, statements: 'ALTER TABLE sources ADD COLUMN pulls_problem_since timestamptz' },
  {
    compatibleFrom: 1,
    statements: `ALTER TABLE workspaces ADD COLUMN checked_before timestamptz NOT NULL DEFAULT '-infinity',
  ADD COLUMN attention smallint NOT NULL GENERATED ALWAYS AS (
    CASE WHEN jsonb_path_exists(last, '$ ? (@.violations.deny > 0 || @.violations.warn > 0)') THEN 8 ELSE 0 END
    + CASE WHEN jsonb_path_exists(last, '$ ? (@.doubtful > 0 || @.counts.unknown > 0 || exists(@.missing[0]))') THEN 4 ELSE 0 END
    + CASE WHEN jsonb_path_exists(last, '$ ? (@.person > 0 || @.orphans > 0)') THEN 2 ELSE 0 END
    + CASE WHEN jsonb_path_exists(last, '$ ? (@.result == "refused")') THEN 1 ELSE 0 END) STORED,
  ADD COLUMN labels jsonb GENERATED ALWAYS AS (last->'labels') STORED;
ALTER TABLE workspaces ALTER COLUMN checked_before SET DEFAULT now();
COMMENT ON COLUMN workspaces.checked_before IS 'checked_at at the time of the last scheduling, so never later than checked_at. Unlike that, it is in an index: it changes only together with due_at.';
COMMENT ON COLUMN workspaces.labels IS 'Labels of its resources. A column of its own for the index, because it changes less often than last.';
COMMENT ON COLUMN workspaces.attention IS 'Bits: 8 violations, 4 doubtful, unknown or missing records, 2 orphans or manual steps, 1 refused.';
CREATE INDEX workspaces_status ON workspaces (status, status_since DESC, address) WHERE paused_at IS NULL AND vanished_at IS NULL;
CREATE INDEX workspaces_paused ON workspaces (paused_at DESC, address) WHERE paused_at IS NOT NULL;
CREATE INDEX workspaces_vanished ON workspaces (vanished_at DESC, address) WHERE vanished_at IS NOT NULL;
CREATE INDEX workspaces_stale ON workspaces ((checked_before AT TIME ZONE 'UTC' + greatest(3 * interval_ms, 60000) * interval '1 millisecond'));
COMMENT ON INDEX workspaces_stale IS 'Not a partial index, because PostgreSQL has no estimates for the expression of a partial index.';
CREATE INDEX workspaces_attention ON workspaces (attention, address) WHERE attention > 0;
CREATE INDEX workspaces_labels ON workspaces USING gin (labels jsonb_path_ops);
CREATE INDEX workspaces_asked ON workspaces (asked_at) WHERE asked_at IS NOT NULL;
CREATE INDEX workspaces_origin ON workspaces ((coalesce(substring(base_url from '^[^/]*//[^/]*'), '')))
  WHERE paused_at IS NULL AND vanished_at IS NULL;
CREATE INDEX notified_requests ON notified (address) WHERE key = 'request';
CREATE INDEX plans_ended ON plans (coalesce(decided_at, made_at)) WHERE state IN ('rejected', 'stale', 'applied')`,
  },
  {
    compatibleFrom: 1,
    statements: `ALTER TABLE freezes ADD COLUMN telling text;
COMMENT ON COLUMN freezes.told IS 'The last event that the webhooks of the fleet received: frozen or resumed.';
COMMENT ON COLUMN freezes.telling IS 'The last event that a process began to send to them, and the id of the process.'`,
  },
  {
    compatibleFrom: 17,
    statements: `ALTER TABLE notified RENAME TO documents;
ALTER TABLE documents RENAME COLUMN key TO kind;
ALTER TABLE documents ALTER COLUMN digest DROP NOT NULL, ADD COLUMN document json;
COMMENT ON TABLE documents IS 'What the runs of a workspace stored, besides saved plans. The plan of the remaining actions and the summary of a state elsewhere have a digest.';
UPDATE documents SET kind = 'search-terms' WHERE kind = 'search';
UPDATE documents SET kind = CASE kind WHEN 'told' THEN 'reported-events' ELSE 'drift-request' END, digest = NULL,
  document = coalesce(digest::json->'both', digest::json)
WHERE kind IN ('told', 'request');
INSERT INTO documents (address, kind, digest, document)
SELECT address, CASE state WHEN 'left' THEN 'remaining-plan' ELSE 'external-state' END, digest, plan FROM plans WHERE state IN ('left', 'outside');
DELETE FROM plans WHERE state IN ('left', 'outside');
COMMENT ON COLUMN plans.state IS 'waiting, approved, rejected, stale or applied';
ALTER TABLE freezes RENAME COLUMN told TO reported;
ALTER TABLE freezes RENAME COLUMN telling TO reporting;
DROP INDEX notified_requests;
CREATE INDEX documents_requests ON documents (address) WHERE kind = 'drift-request';
ALTER TABLE workspaces DROP COLUMN attention;
UPDATE workspaces SET last = last - '{doubtful,person}'::text[] || jsonb_build_object('at_risk', last->'doubtful', 'manual_steps', last->'person')
WHERE last ? 'doubtful';
ALTER TABLE workspaces ADD COLUMN attention smallint NOT NULL GENERATED ALWAYS AS (
  CASE WHEN jsonb_path_exists(last, '$ ? (@.violations.deny > 0 || @.violations.warn > 0)') THEN 8 ELSE 0 END
  + CASE WHEN jsonb_path_exists(last, '$ ? (@.at_risk > 0 || @.counts.unknown > 0 || exists(@.missing[0]))') THEN 4 ELSE 0 END
  + CASE WHEN jsonb_path_exists(last, '$ ? (@.manual_steps > 0 || @.orphans > 0)') THEN 2 ELSE 0 END
  + CASE WHEN jsonb_path_exists(last, '$ ? (@.result == "refused")') THEN 1 ELSE 0 END) STORED;
COMMENT ON COLUMN workspaces.attention IS 'Bits: 8 violations, 4 missing records or records at risk, 2 orphans or manual steps, 1 refused.';
CREATE INDEX workspaces_attention ON workspaces (attention, address) WHERE attention > 0`,
  },
];

/** Returns the statements that grant a role access to a schema. @param schema an identifier that needs no quotes. */
export function grantStatements(schema: string, role: string): string {
  const quoted = `"${role.replaceAll('"', '""')}"`;
  return `GRANT USAGE ON SCHEMA ${schema} TO ${quoted};
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${quoted};
GRANT USAGE ON ALL SEQUENCES IN SCHEMA ${schema} TO ${quoted};`;
}
