import type { Pool, PoolClient } from 'pg';
import { type DatabaseAddress, tlsOptions } from './address.ts';

/** The maximum number of connections of a process to one address. A run uses one or two. The workspaces of a process share them. */
const MAX_CONNECTIONS = 8;
const CONNECT_TIMEOUT_MS = 10_000;
const RESPONSE_TIMEOUT_MS = 30_000;
/** The idle timeout of a transaction. If a process hangs, the server then ends its transactions and releases its locks. */
const IDLE_TIMEOUT_MS = 10_000;
const BEGIN = `BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL idle_in_transaction_session_timeout = ${IDLE_TIMEOUT_MS}; SET LOCAL statement_timeout = ${RESPONSE_TIMEOUT_MS}`;
/** The message of `pg` for a server without TLS. */
const NO_TLS = 'The server does not support SSL connections';

export type DatabaseRow = Readonly<Record<string, unknown>>;

/** A database or a transaction. */
export interface Statements {
  /** Runs a statement, or several without values in one transaction. Rejects if the signal aborts or the server is too slow. */
  query(text: string, values: readonly unknown[], signal: AbortSignal): Promise<readonly DatabaseRow[]>;
}

/** A database whose connections are shared in this process. It does not rely on session state, so it works with a connection pooler. */
export interface Database extends Statements {
  /** True after the first successful connection. */
  readonly wasReached: boolean;
  /** Runs the work in a transaction, which is rolled back if the work throws. */
  transaction<T>(work: (statements: Statements) => Promise<T>, signal: AbortSignal): Promise<T>;
}

const databases = new Map<string, Database>();

export function databaseAt(address: DatabaseAddress): Database {
  const key = keyOf(address);
  const known = databases.get(key) ?? new PooledDatabase(address);
  databases.set(key, known);
  return known;
}

/** Makes `databaseAt` return this database, e.g. an embedded one, for the address until the result is disposed of. */
export function provideDatabase(address: DatabaseAddress, database: Database): Disposable {
  const key = keyOf(address);
  const before = databases.get(key);
  databases.set(key, database);
  return {
    [Symbol.dispose]() {
      if (before === undefined) databases.delete(key);
      else databases.set(key, before);
    },
  };
}

function keyOf({ connectionString, tls }: DatabaseAddress): string {
  return JSON.stringify([connectionString, tls]);
}

/** The result of one statement in `pg`. */
interface StatementResult {
  readonly rows: readonly DatabaseRow[];
}

/** Returns the rows of one result, or of the results of several statements. */
export function rowsOf(result: StatementResult | readonly StatementResult[]): readonly DatabaseRow[] {
  return 'rows' in result ? result.rows : result.flatMap(({ rows }) => rows);
}

export interface StatementRequest {
  readonly text: string;
  readonly values: readonly unknown[];
  readonly signal: AbortSignal;
}

async function runStatement(
  client: PoolClient,
  { text, values, signal }: StatementRequest,
): Promise<readonly DatabaseRow[]> {
  signal.throwIfAborted();
  const { promise: stopped, reject } = Promise.withResolvers<never>();
  const stop = (): void => reject(signal.reason);
  const message = `no response within ${RESPONSE_TIMEOUT_MS / 1000} s`;
  const timer = setTimeout(() => reject(new Error(message)), RESPONSE_TIMEOUT_MS);
  signal.addEventListener('abort', stop, { once: true });
  try {
    const result = values.length === 0 ? client.query(text) : client.query(text, [...values]);
    return rowsOf(await Promise.race([result, stopped]));
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
  }
}

class PooledDatabase implements Database {
  readonly #address: DatabaseAddress;
  #pool: Promise<Pool> | undefined;
  #hasTls = true;
  wasReached = false;

  constructor(address: DatabaseAddress) {
    this.#address = address;
  }

  query(text: string, values: readonly unknown[], signal: AbortSignal): Promise<readonly DatabaseRow[]> {
    return this.#withConnection(signal, (client) => runStatement(client, { text, values, signal }));
  }

  transaction<T>(work: (statements: Statements) => Promise<T>, signal: AbortSignal): Promise<T> {
    return this.#withConnection(signal, async (client) => {
      const plain = { values: [], signal };
      await runStatement(client, { text: BEGIN, ...plain });
      const result = await work({
        query: (text, values, stop) => runStatement(client, { text, values, signal: stop }),
      });
      await runStatement(client, { text: 'COMMIT', ...plain });
      return result;
    });
  }

  /** Runs the work with a connection. If the work fails, the connection is closed, which rolls back its transaction. */
  async #withConnection<T>(signal: AbortSignal, work: (client: PoolClient) => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    const client = await this.#connect();
    this.wasReached = true;
    let isBroken = true;
    try {
      const result = await work(client);
      isBroken = false;
      return result;
    } finally {
      client.release(isBroken);
    }
  }

  async #connect(): Promise<PoolClient> {
    this.#pool ??= this.#open();
    const pool = this.#pool;
    try {
      return await (await pool).connect();
    } catch (error) {
      const { mode } = this.#address.tls;
      const allowsPlaintext = mode === 'prefer' || mode === 'allow';
      const hasNoTls = error instanceof Error && error.message === NO_TLS;
      // The next call opens the pool again: a missing file may exist by then.
      if (this.#pool === pool && (hasNoTls || !this.wasReached)) this.#pool = undefined;
      if (!allowsPlaintext || !hasNoTls) throw error;
      this.#hasTls = false;
      return this.#connect();
    }
  }

  async #open(): Promise<Pool> {
    const { default: pg } = await import('pg');
    /** A client that closes its connection if the login fails on the client side. `pg` itself would leave the connection open. */
    class Client extends pg.Client {
      override connect(): Promise<this>;
      override connect(callback: (error: Error) => void): void;
      override connect(callback?: (error: Error) => void): Promise<this> | undefined {
        if (callback === undefined) return super.connect() as Promise<this>;
        super.connect((error: Error) => {
          if (error) this.end().catch(() => undefined);
          callback(error);
        });
        return undefined;
      }
    }
    const pool = new pg.Pool({
      Client,
      connectionString: this.#address.connectionString,
      ssl: this.#hasTls && tlsOptions(this.#address.tls),
      application_name: 'voxform',
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      keepAlive: true,
      max: MAX_CONNECTIONS,
      allowExitOnIdle: true,
    });
    // A lost connection also rejects its query, and the pool drops an idle one. Without listeners, these events would end the process.
    pool.on('connect', (client) => client.on('error', () => undefined));
    pool.on('error', () => undefined);
    return pool;
  }
}
