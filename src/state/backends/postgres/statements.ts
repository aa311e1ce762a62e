import type { Change, StoredContent } from '../object-store/object-store.ts';
import { workspaceIn } from './schema-sql.ts';

export interface SqlStatement {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** The maximum number of earlier documents per state. */
const MAX_EARLIER = 5;
/** The maximum size of a state's history in bytes. */
const MAX_HISTORY = 4_000_000;

/** The result of the last read. While its generation is current, only later lines of the journal are fetched. */
export interface LastRead {
  readonly generation: string;
  readonly revision: string;
  readonly state: Uint8Array | undefined;
  readonly journal: Uint8Array;
}

/** @param schema the quoted name of the schema. */
export function readStatement(schema: string, name: string, known: LastRead | undefined): SqlStatement {
  return {
    text: `SELECT v.version, current_setting('server_version_num')::integer AS server,
  current_setting('server_version') AS server_name, current_setting('server_encoding') AS encoding,
  s.epoch || '.' || s.revision AS revision, s.write, s.generation, s.lock,
  floor(greatest(0, extract(epoch FROM clock_timestamp() - s.heard)))::float8 AS silent,
  CASE WHEN k.fresh THEN NULL ELSE s.state END AS state, k.fresh,
  (SELECT string_agg(j.line || E'\\n', '' ORDER BY j.revision, j.nth) FROM ${schema}.journal j
   WHERE j.name = s.name AND j.revision > CASE WHEN k.fresh THEN $3::bigint ELSE 0 END) AS journal
FROM ${schema}.schema_version v LEFT JOIN ${schema}.states s ON s.name = $1
CROSS JOIN LATERAL (SELECT coalesce(s.generation = $2 AND s.revision >= $3::bigint, false) AS fresh) k
WHERE v.part = 'state'`,
    values: [name, known?.generation ?? null, known === undefined ? null : revisionOf(known.revision).revision],
  };
}

/** The other states of a workspace at the time of a search. */
export interface OtherStatesSnapshot {
  readonly workspaceId: string;
  /** Name and last write of each state; null if there are no other states. */
  readonly writes: string | null;
}

/** Returns the statement that blocks other runs from creating a state of the workspace, until the transaction ends. */
export function creationLockStatement(workspaceId: string): SqlStatement {
  return { text: `SELECT pg_advisory_xact_lock(hashtext('voxform'), hashtext($1))`, values: [workspaceId] };
}

/** Returns the statement that selects the other states of the workspace. @param schema the quoted name of the schema. */
export function othersStatement(schema: string, name: string, workspaceId: string): SqlStatement {
  return {
    text: `SELECT s.name, s.write, s.state, s.lock IS NOT NULL AS locked, (SELECT string_agg(j.line || E'\\n', '' ORDER BY j.revision, j.nth)
  FROM ${schema}.journal j WHERE j.name = s.name) AS journal
FROM ${schema}.states s WHERE ${isOther('$2')} ORDER BY s.name`,
    values: [name, idLine(workspaceId)],
  };
}

/** Returns the condition that a row `s` is another state of the workspace. @param line the placeholder for the value of `idLine`. */
function isOther(line: string): string {
  return `s.name <> $1 AND ${workspaceIn('s.state')} = ${workspaceIn(`${line}::text`)}`;
}

/** Returns the workspace id as it is written in a document. */
function idLine(workspaceId: string): string {
  return `"workspace_id": ${JSON.stringify(workspaceId)}`;
}

interface RemoteWrite {
  readonly change: Change;
  readonly base: StoredContent;
  /** The other states of the workspace; nothing is stored if they have changed. */
  readonly others?: OtherStatesSnapshot | undefined;
}

/**
 * Returns one statement for the complete change. All parts of the statement depend on the row of `written`, which exists only if no other
 * run wrote in the meantime.
 * @param schema the quoted name of the schema.
 */
export function writeStatement(schema: string, name: string, { change, base, others }: RemoteWrite): SqlStatement {
  const values: unknown[] = [name];
  const bind = (value: unknown): string => `$${values.push(value)}`;
  const { write, state, journal, lock, history, converted } = change;
  const set: Record<string, string> = { write: bind(write) };
  if (state !== undefined) set.state = bind(state && Buffer.from(state).toString('utf8'));
  if (state !== undefined || journal === null) set.generation = set.write ?? '';
  if (lock !== undefined) set.lock = `${bind(lock && JSON.stringify(lock))}::json`;
  if (lock) set.heard = 'clock_timestamp()';
  const parts = [
    base.revision === undefined
      ? insertPart(schema, { generation: set.write ?? '', ...set })
      : updatePart(
          schema,
          lock ? { ...set, epoch: `epoch + (lock->>'id' IS DISTINCT FROM ${bind(lock.id)})::integer` } : set,
          `${conditions(base, bind)}${others ? ` AND ${sameOthers(schema, others, bind)}` : ''}`,
        ),
  ];
  if (converted !== undefined) parts.push(...convertRows(schema, bind(converted.history)));
  else if (state !== undefined) parts.push(...keepEarlier(schema));
  if (journal === null) parts.push(`emptied AS (DELETE FROM ${schema}.journal j USING written WHERE j.name = $1)`);
  if (journal) {
    const lines = Buffer.from(journal).toString('utf8').split('\n').slice(0, -1);
    parts.push(`added AS (INSERT INTO ${schema}.journal (name, revision, nth, line)
  SELECT $1, w.revision, l.nth, l.line FROM written w, unnest(${bind(lines)}::text[]) WITH ORDINALITY AS l (line, nth))`);
  }
  if (history !== undefined) parts.push(...addHistory(schema, bind(history)));
  // A crash of the server must not undo a commit.
  return {
    text: `WITH ${parts.join(',\n')}
SELECT epoch || '.' || revision AS revision,
  CASE WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'on', true) END
FROM written`,
    values,
  };
}

function insertPart(schema: string, set: Readonly<Record<string, string>>): string {
  return `written AS (INSERT INTO ${schema}.states (name, ${Object.keys(set).join(', ')})
  VALUES ($1, ${Object.values(set).join(', ')}) ON CONFLICT (name) DO NOTHING RETURNING epoch, revision)`;
}

function updatePart(schema: string, set: Readonly<Record<string, string>>, where: string): string {
  const assignments = Object.entries(set).map(([column, value]) => `${column} = ${value}`);
  return `written AS (UPDATE ${schema}.states SET revision = revision + 1, ${assignments.join(', ')}
  WHERE name = $1 AND ${where} RETURNING epoch, revision)`;
}

/** Returns the condition that the row is unchanged. Also compares the write, because revisions repeat after a database is restored. */
function conditions({ revision = '', write }: StoredContent, bind: (value: unknown) => string): string {
  const { epoch, revision: last } = revisionOf(revision);
  return `epoch = ${bind(epoch)} AND revision = ${bind(last)} AND write = ${bind(write)}`;
}

function sameOthers(
  schema: string,
  { workspaceId, writes }: OtherStatesSnapshot,
  bind: (value: unknown) => string,
): string {
  return `(SELECT string_agg(s.name || ' ' || s.write, E'\\n' ORDER BY s.name) FROM ${schema}.states s
  WHERE ${isOther(bind(idLine(workspaceId)))}) IS NOT DISTINCT FROM ${bind(writes)}`;
}

/** Returns statements that keep the replaced document. They read the rows as they were before the write. */
function keepEarlier(schema: string): string[] {
  return [
    `kept AS (INSERT INTO ${schema}.earlier (name, revision, state)
  SELECT s.name, s.revision, s.state FROM ${schema}.states s, written WHERE s.name = $1 AND s.state IS NOT NULL)`,
    `dropped AS (DELETE FROM ${schema}.earlier e USING written WHERE e.name = $1 AND e.revision <=
  (SELECT revision FROM ${schema}.earlier WHERE name = $1 ORDER BY revision DESC OFFSET ${MAX_EARLIER - 1} LIMIT 1))`,
  ];
}

/** Returns statements that replace the lines of the history, and remove the earlier documents, which would keep their old form. */
function convertRows(schema: string, lines: string): string[] {
  return [
    `dropped AS (DELETE FROM ${schema}.earlier e USING written WHERE e.name = $1)`,
    `converted AS (UPDATE ${schema}.history h SET line = l.line FROM written, unnest(${lines}::text[]) WITH ORDINALITY AS l (line, nth),
  (SELECT revision, row_number() OVER (ORDER BY revision) AS nth FROM ${schema}.history WHERE name = $1) AS o
  WHERE h.name = $1 AND h.revision = o.revision AND l.nth = o.nth)`,
  ];
}

function addHistory(schema: string, line: string): string[] {
  return [
    `noted AS (INSERT INTO ${schema}.history (name, revision, line) SELECT $1, w.revision, ${line} FROM written w)`,
    `forgotten AS (DELETE FROM ${schema}.history h USING written, (SELECT revision,
  sum(octet_length(line)) OVER (ORDER BY revision DESC) AS bytes FROM ${schema}.history WHERE name = $1) AS a
  WHERE h.name = $1 AND h.revision = a.revision AND a.bytes > ${MAX_HISTORY})`,
  ];
}

function revisionOf(revision: string): { readonly epoch: string; readonly revision: string } {
  const [epoch = '', last = ''] = revision.split('.');
  return { epoch, revision: last };
}
