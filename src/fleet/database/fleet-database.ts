import path from 'node:path';
import type { PGlite, Transaction } from '@electric-sql/pglite';
import { makeFolders } from '../../files/files.ts';
import { JointLimit } from '../../platform/joint-limit.ts';
import { UserError } from '../../problems/user-error.ts';
import { addressOf } from '../../state/backends/postgres/address.ts';
import {
  type Database,
  type DatabaseRow,
  databaseAt,
  rowsOf,
  type StatementRequest,
  type Statements,
} from '../../state/backends/postgres/database.ts';
import { isMissing, problemOf } from '../../state/backends/postgres/problems.ts';
import { requiredText } from '../../state/backends/settings.ts';
import type { Secret } from '../../values/value.ts';
import { isExecutable } from '../../version.ts';
import { keepStatesIn } from '../fleet-state.ts';
import { type DatabaseUse, lockForProcess, type ProcessLock } from './process-lock.ts';

export interface FleetStatements {
  /** Executes a statement and returns its rows. Without values, `text` may contain several statements; they form one transaction. */
  query(text: string, ...values: unknown[]): Promise<readonly DatabaseRow[]>;
}

/** The database of a fleet. All errors, including temporary ones, are `UserError`s. */
export interface FleetDatabase extends FleetStatements {
  /** The address in messages, without user and password. */
  readonly location: string;
  /** True for the embedded database, which only one process at a time can open. */
  readonly isEmbedded: boolean;
  /** The database role of the fleet; undefined if the address has no user. */
  readonly user: string | undefined;
  /** Executes the statements of `work` in one transaction. The transaction is rolled back if `work` throws. */
  atomically<T>(work: (statements: FleetStatements) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** The setting of the fleet file that contains the address, for messages. */
const SETTING = 'database';
const SET_UP_COMMAND = 'voxform fleet init --sql';

/** Returns the database at an address, without connecting yet. @throws UserError if the address is not set or is invalid. */
export function fleetDatabaseAt(url: Secret | string): FleetDatabase {
  requiredText(
    SETTING,
    url,
    (name) => `Set ${name} to an address such as postgres://USER:PASSWORD@HOST:5432/DATABASE.`,
  );
  const address = addressOf(url, SETTING);
  const { location, user } = address;
  return fleetDatabase(databaseAt(address), {
    location,
    user,
    isEmbedded: false,
    close: async () => undefined,
  });
}

/**
 * Opens a PostgreSQL database that runs in this process, with its files in a folder.
 * @throws DatabaseInUse if another process has the database open; UserError in the one-file executable.
 */
export async function embeddedFleetDatabase(folder: string, use: DatabaseUse = 'serve'): Promise<FleetDatabase> {
  if (isExecutable) {
    throw new UserError('the one-file executable of voxform has no embedded database', {
      hint: 'Set `database` in the fleet file to the address of a PostgreSQL database, or install voxform as a package for Node.',
    });
  }
  const database = await EmbeddedDatabase.open(folder, use);
  const states = keepStatesIn(database);
  return fleetDatabase(database, {
    location: folder,
    user: undefined,
    isEmbedded: true,
    async close() {
      states[Symbol.dispose]();
      await database.close();
    },
  });
}

/** Thrown while the tables of the fleet do not exist. */
export class FleetStarting extends UserError {}

/** Wraps a database so that queries throw `FleetStarting` before the tables exist. */
export function withStartingErrors(database: FleetDatabase, isSetUp: () => boolean): FleetDatabase {
  return around(database, async (work) => {
    try {
      return await work();
    } catch (error) {
      if (isSetUp() || !(error instanceof UserError && isMissing(error.cause))) throw error;
      throw new FleetStarting('starting: the tables of the fleet are not ready yet', {
        hint: 'Try again in a few seconds.',
        cause: error,
      });
    }
  });
}

/** The maximum number of connections that the page uses at once: half of those that it shares with the runs of its process. */
const PAGE_CONNECTIONS = 4;
const MAX_WAIT_MS = 10_000;

/** Wraps a database for the page, so that slow requests of its readers do not delay heartbeats, freezes and the results of runs. */
export function withPageLimit(database: FleetDatabase): FleetDatabase {
  const { location } = database;
  const limit = new JointLimit(PAGE_CONNECTIONS);
  return around(database, async (work) => {
    await limit.take(location, [AbortSignal.timeout(MAX_WAIT_MS)]).catch(() => {
      throw new UserError(`too many requests are waiting for the database of the fleet, ${location}`, {
        hint: 'Try again in a minute.',
      });
    });
    try {
      return await work();
    } finally {
      limit.release(location);
    }
  });
}

/** Returns a database that calls `wrap` for each query and each transaction. */
function around(database: FleetDatabase, wrap: <T>(work: () => Promise<T>) => Promise<T>): FleetDatabase {
  return {
    ...database,
    query: (text, ...values) => wrap(() => database.query(text, ...values)),
    atomically: (work) => wrap(() => database.atomically(work)),
  };
}

type DatabaseProperties = Omit<FleetDatabase, keyof FleetStatements | 'atomically'>;

function fleetDatabase(database: Database, properties: DatabaseProperties): FleetDatabase {
  // Never aborted, because every statement has its own timeout.
  const { signal } = new AbortController();
  const withUserErrors = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw error instanceof UserError ? error : databaseError(properties.location, error);
    }
  };
  const statementsOn = (connection: Statements): FleetStatements => ({
    query: (text, ...values) => withUserErrors(() => connection.query(text, values.map(withoutNul), signal)),
  });
  return {
    ...properties,
    ...statementsOn(database),
    atomically: (work) =>
      withUserErrors(() => database.transaction((transaction) => work(statementsOn(transaction)), signal)),
  };
}

/** PostgreSQL refuses NUL in texts, which may come from the errors of other servers. */
function withoutNul(value: unknown): unknown {
  return typeof value === 'string' ? value.replaceAll('\0', '\ufffd') : value;
}

function databaseError(location: string, error: unknown): UserError {
  const subject = `the database of the fleet, ${location}`;
  const problem = problemOf(error, {
    subject,
    setting: SETTING,
    setUp: SET_UP_COMMAND,
    server: location,
    wasReached: false,
    wasWritten: false,
  });
  if (problem instanceof UserError) return problem;
  return new UserError(`cannot use ${subject}: ${problem.message}`, { cause: error });
}

/** PostgreSQL compiled to WebAssembly, in this process. It has one connection, so statements are serialized. */
class EmbeddedDatabase implements Database {
  readonly wasReached = true;
  readonly #pglite: PGlite;
  readonly #lock: ProcessLock;

  private constructor(pglite: PGlite, lock: ProcessLock) {
    this.#pglite = pglite;
    this.#lock = lock;
  }

  /** @throws DatabaseInUse if another process has the database open. */
  static async open(folder: string, use: DatabaseUse): Promise<EmbeddedDatabase> {
    await makeFolders(folder, { mode: 0o700 });
    const lock = await lockForProcess(path.join(folder, 'process.json'), use);
    try {
      const { PGlite } = await import('@electric-sql/pglite');
      return new EmbeddedDatabase(await PGlite.create(path.join(folder, 'data')), lock);
    } catch (error) {
      await lock.release();
      throw error;
    }
  }

  query(text: string, values: readonly unknown[], signal: AbortSignal): Promise<readonly DatabaseRow[]> {
    return this.#query(this.#pglite, { text, values, signal });
  }

  transaction<T>(work: (statements: Statements) => Promise<T>, _signal: AbortSignal): Promise<T> {
    return this.#pglite.transaction((transaction) =>
      work({ query: (text, values, signal) => this.#query(transaction, { text, values, signal }) }),
    );
  }

  async close(): Promise<void> {
    await this.#pglite.close();
    await this.#lock.release();
  }

  async #query(
    connection: PGlite | Transaction,
    { text, values, signal }: StatementRequest,
  ): Promise<readonly DatabaseRow[]> {
    signal.throwIfAborted();
    try {
      if (values.length > 0) return rowsOf(await connection.query<DatabaseRow>(text, [...values]));
      return rowsOf(await connection.exec(text));
    } catch (error) {
      // Without a rollback, a transaction in the text would stay aborted on the only connection.
      if (connection === this.#pglite && text.includes('BEGIN')) await this.#pglite.exec('ROLLBACK');
      throw error;
    }
  }
}

/** Replaces NUL and unpaired surrogates with U+FFFD, because PostgreSQL would refuse the whole batch of rows. */
export function storableJson(value: unknown): string {
  return JSON.stringify(value).replace(/(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})/g, '$1\ufffd');
}
