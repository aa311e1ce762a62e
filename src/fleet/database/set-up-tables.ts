import { UserError } from '../../problems/user-error.ts';
import { MIN_SERVER, TABLES as STATE_TABLES } from '../../state/backends/postgres/schema-sql.ts';
import type { FleetDatabase, FleetStatements } from './fleet-database.ts';
import { FLEET_SCHEMA, FLEET_TABLES, grantStatements, type SchemaStep, schemaSteps } from './fleet-tables.ts';

const ALL_TABLES = [...STATE_TABLES, ...FLEET_TABLES];

/**
 * Creates the tables or migrates them to the newest version. Processes of the previous version can continue.
 * @throws UserError if existing tables, including those of the queue, belong to a newer voxform or to another program, or if the server is
 * too old.
 */
export async function setUpTables(database: FleetDatabase, steps = schemaSteps): Promise<void> {
  const existing = await versionIn(database, database, steps);
  if (existing.version >= steps.length) return;
  const { queueVersion } = await import('./queue-tables.ts');
  await queueVersion(database);
  await database.atomically(async (statements) => {
    await statements.query(`SELECT pg_advisory_xact_lock(hashtext('voxform'), hashtext('${FLEET_SCHEMA}'))`);
    const { version, hasSchema } = await versionIn(database, statements, steps);
    if (version >= steps.length) return;
    if (!hasSchema) await statements.query(`CREATE SCHEMA ${FLEET_SCHEMA}`);
    await statements.query(stepsAfter(version, steps));
  });
}

/**
 * Returns the SQL script that creates or migrates the tables. A user with more rights than `role` must execute it.
 * @param version the version of the existing tables; 0 if there are none.
 */
export function tablesScript(role: string, version: number): string {
  return `CREATE SCHEMA IF NOT EXISTS ${FLEET_SCHEMA};\n${stepsAfter(version, schemaSteps)}\n${grantStatements(FLEET_SCHEMA, role)}`;
}

/** Returns the version of the tables; 0 if there are none. */
export async function tablesVersion(database: FleetDatabase): Promise<number> {
  return (await versionIn(database, database, schemaSteps)).version;
}

function stepsAfter(version: number, steps: readonly SchemaStep[]): string {
  const compatibleFrom = steps.at(-1)?.compatibleFrom ?? 1;
  return `${steps
    .slice(version)
    .map(({ statements }) => `SET LOCAL search_path = ${FLEET_SCHEMA};\n${statements};\n`)
    .join(
      '',
    )}INSERT INTO ${FLEET_SCHEMA}.schema_version VALUES ('fleet', ${steps.length}), ('fleet, compatible from', ${compatibleFrom})
ON CONFLICT (part) DO UPDATE SET version = excluded.version;`;
}

interface ExistingSchema {
  /** The version of the tables; 0 if there are none. */
  readonly version: number;
  readonly hasSchema: boolean;
}

async function versionIn(
  { location }: FleetDatabase,
  statements: FleetStatements,
  steps: readonly SchemaStep[],
): Promise<ExistingSchema> {
  const [row] = await statements.query(
    `SELECT current_setting('server_version_num')::integer AS server, current_setting('server_version') AS server_name,
  current_setting('server_encoding') AS encoding,
  EXISTS (SELECT FROM pg_namespace WHERE nspname = $1) AS has_schema,
  ARRAY(SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = $1 AND c.relname = ANY ($2) ORDER BY 1) AS taken,
  (SELECT count(*)::integer FROM pg_attribute a WHERE a.attrelid = to_regclass($1 || '.schema_version')
    AND a.attname IN ('part', 'version') AND NOT a.attisdropped) AS columns`,
    FLEET_SCHEMA,
    ALL_TABLES,
  );
  const taken = row?.taken as string[];
  const hasSchema = row?.has_schema === true;
  if (Number(row?.server) < MIN_SERVER.version) {
    throw new UserError(
      `the database of the fleet, ${location}, is PostgreSQL ${row?.server_name}; voxform needs ${MIN_SERVER.name} or later`,
      { hint: 'Upgrade the server, or use another database.' },
    );
  }
  if (row?.encoding !== 'UTF8') {
    throw new UserError(`the database of the fleet, ${location}, has the encoding ${row?.encoding}, not UTF8`, {
      hint: 'Create a database with this encoding: CREATE DATABASE voxform ENCODING UTF8 TEMPLATE template0',
    });
  }
  if (taken.length === 0) return { version: 0, hasSchema };
  const versions =
    Number(row?.columns) === 2
      ? await statements.query(`SELECT part, version FROM ${FLEET_SCHEMA}.schema_version`)
      : [];
  const versionOf = (part: string): number => Number(versions.find((each) => each.part === part)?.version ?? 0);
  const version = versionOf('fleet');
  if (version === 0) {
    throw new UserError(
      `the schema ${FLEET_SCHEMA} of ${location} has tables that do not belong to a fleet: ${taken.join(', ')}`,
      { hint: 'Use another database, or drop the schema if nothing needs it. Nothing was changed.' },
    );
  }
  const oldest = versionOf('fleet, compatible from');
  if (oldest > steps.length) {
    throw new UserError(
      `the schema ${FLEET_SCHEMA} of ${location} has version ${version}; this version of voxform supports ${steps.length}`,
      { hint: 'Upgrade voxform.' },
    );
  }
  // The check is skipped before a migration, because the tables of later migrations do not exist yet.
  const missing = ALL_TABLES.filter((table) => !taken.includes(table));
  if (missing.length > 0 && version >= schemaSteps.length) {
    throw new UserError(`the schema ${FLEET_SCHEMA} of ${location} lacks ${missing.join(', ')}`, {
      hint: 'Restore the schema from a backup of the database.',
    });
  }
  return { version, hasSchema };
}
