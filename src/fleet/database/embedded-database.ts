import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { PGlite, Transaction } from '@electric-sql/pglite';
import {
  type AskedStatement,
  type Database,
  type DatabaseRow,
  rowsOf,
  type Statements,
} from '../../state/backends/postgres/database.ts';
import { type DatabaseUse, lockForProcess, type ProcessLock } from './process-lock.ts';

/** PostgreSQL compiled to WebAssembly, in this process. It has one connection, so statements are serialized. */
export class EmbeddedDatabase implements Database {
  readonly wasReached = true;
  readonly #pglite: PGlite;
  readonly #lock: ProcessLock;

  private constructor(pglite: PGlite, lock: ProcessLock) {
    this.#pglite = pglite;
    this.#lock = lock;
  }

  /** @throws DatabaseInUse if another process has it open. */
  static async open(folder: string, use: DatabaseUse): Promise<EmbeddedDatabase> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
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
    return this.#ask(this.#pglite, { text, values, signal });
  }

  transaction<T>(work: (statements: Statements) => Promise<T>, _signal: AbortSignal): Promise<T> {
    return this.#pglite.transaction((transaction) =>
      work({ query: (text, values, until) => this.#ask(transaction, { text, values, signal: until }) }),
    );
  }

  async close(): Promise<void> {
    await this.#pglite.close();
    await this.#lock.release();
  }

  async #ask(
    on: PGlite | Transaction,
    { text, values, signal }: AskedStatement,
  ): Promise<readonly DatabaseRow[]> {
    signal.throwIfAborted();
    try {
      if (values.length > 0) return rowsOf(await on.query<DatabaseRow>(text, [...values]));
      return rowsOf(await on.exec(text));
    } catch (error) {
      // A transaction in the text itself would stay aborted on the only connection.
      if (on === this.#pglite && text.includes('BEGIN')) await this.#pglite.exec('ROLLBACK');
      throw error;
    }
  }
}
