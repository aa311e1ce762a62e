import { UserError } from '../../../problems/user-error.ts';
import type { DatabaseRow, Statements } from './database.ts';
import { isMissing } from './problems.ts';
import { MIN_SERVER, quoted, SCHEMA_VERSION, TABLES } from './schema-sql.ts';
import type { SqlStatement } from './statements.ts';

/** The result if the schema does not exist or has none of our tables. */
export interface Absent {
  readonly hasSchema: boolean;
}

/** The tables of one schema. It checks whether they exist only if a statement fails. */
export class Tables {
  readonly #schema: string;
  readonly #location: string;

  constructor(schema: string, location: string) {
    this.#schema = schema;
    this.#location = location;
  }

  /**
   * Runs a statement on the tables. Returns its rows, or `Absent` if no table exists.
   * @throws UserError if another program or a newer voxform created the tables.
   */
  async query(
    database: Statements,
    { text, values }: SqlStatement,
    signal: AbortSignal,
  ): Promise<readonly DatabaseRow[] | Absent> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await database.query(text, values, signal);
      } catch (error) {
        if (!isMissing(error)) throw error;
        const absent = await this.#absence(database, signal);
        if (absent !== undefined) return absent;
        // Another run has created the tables in the meantime, so try again once.
        if (attempt > 1) throw this.#notOurs(TABLES);
      }
    }
  }

  /** @throws UserError if this version of voxform does not support the server or the schema. */
  check(row: DatabaseRow | undefined): void {
    if (row === undefined) throw this.#notOurs(['schema_version']);
    const { version, server, server_name, encoding } = row;
    if (Number(version) > SCHEMA_VERSION) throw this.#newer(Number(version));
    if (Number(server) < MIN_SERVER.version) {
      throw new UserError(
        `the state ${this.#location} is on PostgreSQL ${server_name}; voxform needs ${MIN_SERVER.name} or later`,
        { hint: 'Upgrade the server, or keep the state in another database.' },
      );
    }
    if (encoding === 'UTF8' || encoding === 'SQL_ASCII') return;
    throw new UserError(`the database of the state ${this.#location} has the encoding ${encoding}, not UTF8`, {
      hint: 'Create a database: CREATE DATABASE voxform ENCODING UTF8 TEMPLATE template0',
    });
  }

  missingTables(): UserError {
    return new UserError(
      `the schema ${quoted(this.#schema)} of the state ${this.#location} was dropped during this run`,
      { hint: 'Restore it from a backup of the database.' },
    );
  }

  /** Returns `Absent` if no table exists, and undefined if all tables exist. @throws UserError if only some exist. */
  async #absence(database: Statements, signal: AbortSignal): Promise<Absent | undefined> {
    const [found] = await database.query(
      `SELECT current_setting('server_version_num')::integer AS server, current_setting('server_version') AS server_name,
  current_setting('server_encoding') AS encoding,
  EXISTS (SELECT FROM pg_namespace WHERE nspname = $1) AS exists,
  ARRAY(SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = $1 AND c.relname = ANY ($2) ORDER BY 1) AS taken`,
      [this.#schema, TABLES],
      signal,
    );
    const taken = found?.taken as string[];
    if (taken.length === 0) {
      this.check({ ...found, version: SCHEMA_VERSION });
      return { hasSchema: found?.exists === true };
    }
    const version = taken.includes('schema_version') ? await this.#readVersion(database, signal) : undefined;
    if (version === undefined) throw this.#notOurs(taken);
    if (version > SCHEMA_VERSION) throw this.#newer(version);
    const missing = TABLES.filter((table) => !taken.includes(table));
    if (missing.length === 0) return undefined;
    throw new UserError(
      `the schema ${quoted(this.#schema)} of the state ${this.#location} lacks ${missing.join(', ')}`,
      { hint: 'Restore the schema from a backup of the database.' },
    );
  }

  async #readVersion(database: Statements, signal: AbortSignal): Promise<number | undefined> {
    try {
      const text = `SELECT version FROM ${quoted(this.#schema)}.schema_version WHERE part = $1`;
      const [row] = await database.query(text, ['state'], signal);
      return row && Number(row.version);
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  #notOurs(tables: readonly string[]): UserError {
    return new UserError(
      `the schema ${quoted(this.#schema)} of the state ${this.#location} has tables of another program: ${tables.join(', ')}`,
      { hint: 'Set state.schema to another schema. Nothing was changed.' },
    );
  }

  #newer(version: number): UserError {
    return new UserError(
      `the schema ${quoted(this.#schema)} of the state ${this.#location} has version ${version}; this version of voxform supports ${SCHEMA_VERSION}`,
      { hint: 'Upgrade voxform.' },
    );
  }
}
