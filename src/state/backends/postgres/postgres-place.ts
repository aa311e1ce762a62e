import { UserError } from '../../../problems/user-error.ts';
import type { Secret } from '../../../values/value.ts';
import {
  type EarlierDocument,
  Overtaken,
  type RemoteChange,
  type RemoteContent,
  type RemoteLock,
  type RemotePlace,
  type RemoteTiming,
} from '../remote/remote-place.ts';
import { addressOf } from './address.ts';
import { type Database, type DatabaseRow, databaseAt } from './database.ts';
import { isAlready, isMissing, problemOf } from './problems.ts';
import { OLDEST_SERVER, quoted, SCHEMA_VERSION, setUpStatements, TABLES } from './schema.ts';
import { type LastRead, readStatement, writeStatement } from './statements.ts';

export interface PostgresPlace {
  readonly url: Secret | string;
  readonly name: string;
  readonly schema: string;
}

const TIMING: RemoteTiming = { beat: 10_000, patience: 60_000, gather: 0, poll: 1_000 };

/** A state in rows of a database: one statement reads it, and each write is one statement. */
export class PostgresRemotePlace implements RemotePlace {
  readonly location: string;
  readonly setting = 'state.name';
  readonly timing: RemoteTiming;
  readonly #place: PostgresPlace;
  readonly #schema: string;
  #known: LastRead | undefined;
  /** What the last read found instead of our tables. */
  #absent: Absent | undefined;
  #wasWritten = false;

  constructor(place: PostgresPlace, location: string, timing: RemoteTiming = TIMING) {
    this.location = location;
    this.timing = timing;
    this.#place = place;
    this.#schema = quoted(place.schema);
  }

  async read(signal: AbortSignal): Promise<RemoteContent> {
    return this.#at(async (database) => {
      const { text, values } = readStatement(this.#schema, this.#place.name, this.#known);
      let row: DatabaseRow | undefined;
      try {
        [row] = await database.query(text, values, signal);
      } catch (error) {
        if (!isMissing(error)) throw error;
        this.#absent = await this.#lookAround(database, signal);
        return NOTHING;
      }
      this.#absent = undefined;
      this.#check(row);
      return this.#contentOf(row as unknown as ReadRow);
    });
  }

  async write(change: RemoteChange, held: RemoteContent, signal: AbortSignal): Promise<string> {
    return this.#at(async (database) => {
      if (this.#absent !== undefined) await this.#setUp(this.#absent, database, signal);
      const { text, values } = writeStatement(this.#schema, this.#place.name, { change, held });
      const [row] = await database.query(text, values, signal);
      if (row === undefined) throw new Overtaken();
      this.#wasWritten = true;
      return String(row.revision);
    });
  }

  history(signal: AbortSignal): Promise<readonly string[]> {
    return this.#rows(
      `SELECT line FROM ${this.#schema}.history WHERE name = $1 ORDER BY revision`,
      signal,
      (row) => String(row.line),
    );
  }

  earlier(signal: AbortSignal): Promise<readonly EarlierDocument[]> {
    const text = `SELECT revision, state FROM ${this.#schema}.earlier WHERE name = $1 ORDER BY revision DESC`;
    return this.#rows(text, signal, ({ revision, state }) => ({
      source: `${this.location}, revision ${revision}`,
      bytes: Buffer.from(String(state)),
    }));
  }

  async #rows<T>(text: string, signal: AbortSignal, made: (row: DatabaseRow) => T): Promise<readonly T[]> {
    return this.#at(async (database) => {
      try {
        return (await database.query(text, [this.#place.name], signal)).map(made);
      } catch (error) {
        if (!isMissing(error)) throw error;
        await this.#lookAround(database, signal);
        return [];
      }
    });
  }

  async #at<T>(work: (database: Database) => Promise<T>): Promise<T> {
    const address = addressOf(this.#place.url);
    const database = databaseAt(address);
    try {
      return await work(database);
    } catch (error) {
      if (error instanceof Overtaken) throw error;
      throw problemOf(error, {
        location: this.location,
        server: address.location,
        wasReached: database.wasReached,
        wasWritten: this.#wasWritten,
      });
    }
  }

  /** @throws UserError where what is there is not ours, or not for this voxform. */
  #check(row: DatabaseRow | undefined): void {
    if (row === undefined) throw this.#notOurs(['schema_version']);
    const { version, server, server_name, encoding } = row;
    if (Number(version) > SCHEMA_VERSION) throw this.#newer(Number(version));
    if (Number(server) < OLDEST_SERVER.version) {
      throw new UserError(
        `the state ${this.location} is on PostgreSQL ${server_name}; voxform needs ${OLDEST_SERVER.name} or later`,
        { hint: 'Upgrade the server, or keep the state in another database.' },
      );
    }
    if (encoding === 'UTF8' || encoding === 'SQL_ASCII') return;
    throw new UserError(`the database of the state ${this.location} has the encoding ${encoding}, not UTF8`, {
      hint: 'Create one: CREATE DATABASE voxform ENCODING UTF8 TEMPLATE template0',
    });
  }

  #contentOf(row: ReadRow): RemoteContent {
    if (row.revision === null) {
      this.#known = undefined;
      return NOTHING;
    }
    const before = row.fresh ? this.#known : undefined;
    const journal = Buffer.from(row.journal ?? '');
    const known: LastRead = {
      generation: row.generation,
      revision: row.revision,
      state: before === undefined ? (row.state === null ? undefined : Buffer.from(row.state)) : before.state,
      journal: before === undefined ? journal : Buffer.concat([before.journal, journal]),
    };
    this.#known = known;
    return {
      revision: known.revision,
      write: row.write,
      state: known.state,
      journal: known.journal,
      lock: row.lock ?? undefined,
      silentSeconds: row.lock === null ? undefined : row.silent,
    };
  }

  /** Finds out why our tables were not there. */
  async #lookAround(database: Database, signal: AbortSignal): Promise<Absent> {
    const [found] = await database.query(
      `SELECT current_setting('server_version_num')::integer AS server, current_setting('server_version') AS server_name,
  current_setting('server_encoding') AS encoding,
  EXISTS (SELECT FROM pg_namespace WHERE nspname = $1) AS exists,
  ARRAY(SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = $1 AND c.relname = ANY ($2) ORDER BY 1) AS taken`,
      [this.#place.schema, TABLES],
      signal,
    );
    const taken = found?.taken as string[];
    if (taken.length === 0) {
      this.#check({ ...found, version: SCHEMA_VERSION });
      return { hasSchema: found?.exists === true };
    }
    if (!taken.includes('schema_version')) throw this.#notOurs(taken);
    const version = await this.#versionThere(database, signal);
    if (version !== undefined && version > SCHEMA_VERSION) throw this.#newer(version);
    const missing = TABLES.filter((table) => !taken.includes(table));
    if (version === undefined || missing.length === 0) throw this.#notOurs(taken);
    throw new UserError(
      `the schema ${this.#schema} of the state ${this.location} lacks ${missing.join(', ')}`,
      {
        hint: 'Restore the schema from a backup of the database.',
      },
    );
  }

  async #versionThere(database: Database, signal: AbortSignal): Promise<number | undefined> {
    try {
      const text = `SELECT version FROM ${this.#schema}.schema_version WHERE part = $1`;
      const [row] = await database.query(text, ['state'], signal);
      return row && Number(row.version);
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  async #setUp({ hasSchema }: Absent, database: Database, signal: AbortSignal): Promise<void> {
    try {
      await database.query(setUpStatements(this.#place.schema, hasSchema), [], signal);
    } catch (error) {
      // Somebody else was first, and what they made is looked at by the write.
      if (!isAlready(error)) throw error;
    }
    this.#absent = undefined;
  }

  #notOurs(tables: readonly string[]): UserError {
    return new UserError(
      `the schema ${this.#schema} of the state ${this.location} has tables that are not of voxform: ${tables.join(', ')}`,
      { hint: 'Set state.schema to another schema. Nothing was changed.' },
    );
  }

  #newer(version: number): UserError {
    return new UserError(
      `the schema ${this.#schema} of the state ${this.location} has version ${version}; this voxform knows ${SCHEMA_VERSION}`,
      { hint: 'Upgrade voxform.' },
    );
  }
}

/** Our tables are not there, and nothing of somebody else's is. */
interface Absent {
  readonly hasSchema: boolean;
}

interface ReadRow {
  /** Null where the state was never written. */
  readonly revision: string | null;
  readonly write: string;
  readonly generation: string;
  readonly lock: RemoteLock | null;
  readonly silent: number;
  /** True where what was known is still in force, so that only what came after it is here. */
  readonly fresh: boolean;
  readonly state: string | null;
  readonly journal: string | null;
}

const NOTHING: RemoteContent = {
  revision: undefined,
  write: undefined,
  state: undefined,
  journal: new Uint8Array(),
  lock: undefined,
  silentSeconds: undefined,
};
