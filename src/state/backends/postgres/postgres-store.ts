import { command } from '../../../problems/user-error.ts';
import type { Secret } from '../../../values/value.ts';
import { changed } from '../object-store/change.ts';
import {
  type Change,
  type EarlierDocument,
  type LockTiming,
  NO_CONTENT,
  type ObjectStore,
  type OtherContent,
  SecondState,
  type StoredContent,
  type StoredLock,
  WriteConflict,
} from '../object-store/object-store.ts';
import { settingText } from '../settings.ts';
import { addressOf, type DatabaseAddress } from './address.ts';
import { type Database, type DatabaseRow, databaseAt } from './database.ts';
import { isCreatedConcurrently, problemOf } from './problems.ts';
import { quoted, setUpStatements } from './schema-sql.ts';
import {
  creationLockStatement,
  type LastRead,
  type OtherStatesSnapshot,
  othersStatement,
  readStatement,
  type SqlStatement,
  writeStatement,
} from './statements.ts';
import { type Absent, Tables } from './tables.ts';

export interface PostgresLocation {
  readonly url: Secret | string;
  readonly name: string;
  readonly schema: string;
}

const TIMING: LockTiming = {
  heartbeat: 10_000,
  // A fleet process stops a run itself if it cannot renew the lock.
  takeoverAfter: ({ operation }) => (operation === 'fleet' ? 45_000 : 60_000),
  gather: 0,
  poll: 1_000,
};

/** A state in the rows of a database. Each read and each write is one statement. */
export class PostgresStore implements ObjectStore {
  readonly location: string;
  readonly setting = 'state.name';
  readonly timing: LockTiming;
  readonly #settings: PostgresLocation;
  readonly #schema: string;
  readonly #tables: Tables;
  #address: DatabaseAddress | undefined;
  #known: LastRead | undefined;
  /** Set if the last read found no tables. */
  #absent: Absent | undefined;
  #wasWritten = false;
  /** The other states of the workspace at the last search. A first document is stored only if they are unchanged. */
  #others: OtherStatesSnapshot | undefined;

  constructor(settings: PostgresLocation, location: string, timing: LockTiming = TIMING) {
    this.location = location;
    this.timing = timing;
    this.#settings = settings;
    this.#schema = quoted(settings.schema);
    this.#tables = new Tables(settings.schema, location);
  }

  async read(signal: AbortSignal): Promise<StoredContent> {
    return this.#withDatabase(async (database) => {
      const found = await this.#tables.query(
        database,
        readStatement(this.#schema, this.#settings.name, this.#known),
        signal,
      );
      if ('hasSchema' in found) {
        this.#absent = found;
        return NO_CONTENT;
      }
      this.#absent = undefined;
      this.#tables.check(found[0]);
      return this.#contentOf(found[0] as unknown as ReadRow);
    });
  }

  async write(change: Change, base: StoredContent, signal: AbortSignal): Promise<StoredContent> {
    return this.#withDatabase(async (database) => {
      if (this.#absent !== undefined) await this.#setUp(this.#absent, database, signal);
      const others = change.state && base.state === undefined ? this.#others : undefined;
      const statement = writeStatement(this.#schema, this.#settings.name, { change, base, others });
      const found = await (others === undefined
        ? this.#tables.query(database, statement, signal)
        : database.transaction(async (on) => {
            const { text, values } = creationLockStatement(others.workspaceId);
            await on.query(text, values, signal);
            return this.#tables.query(on, statement, signal);
          }, signal));
      if ('hasSchema' in found) throw this.#tables.missingTables();
      const [row] = found;
      if (row === undefined) throw (others && (await this.#secondState(others, signal))) ?? new WriteConflict();
      this.#wasWritten = true;
      return changed(base, change, String(row.revision));
    });
  }

  history(signal: AbortSignal): Promise<readonly string[]> {
    const text = `SELECT line FROM ${this.#schema}.history WHERE name = $1 ORDER BY revision`;
    return this.#rows({ text, values: [this.#settings.name] }, signal, (row) => String(row.line));
  }

  earlier(signal: AbortSignal): Promise<readonly EarlierDocument[]> {
    const text = `SELECT revision, state FROM ${this.#schema}.earlier WHERE name = $1 ORDER BY revision DESC`;
    return this.#rows({ text, values: [this.#settings.name] }, signal, ({ revision, state }) => ({
      source: `${this.location}, revision ${revision}`,
      bytes: Buffer.from(String(state)),
    }));
  }

  async others(workspaceId: string, signal: AbortSignal): Promise<readonly OtherContent[]> {
    const { url, schema, name: own } = this.#settings;
    const statement = othersStatement(this.#schema, own, workspaceId);
    const rows = await this.#rows(statement, signal, (row) => row);
    const writes = rows.map(({ name, write }) => `${name} ${write}`).join('\n') || null;
    this.#others = { workspaceId, writes };
    return rows.map(({ name, state, journal, locked }) => ({
      location: `${addressOf(url).location} ${name}`,
      from: `{ backend: postgres, url: ${settingText(url)}, schema: ${schema}, name: ${settingText(String(name))} }`,
      state: Buffer.from(String(state)),
      journal: Buffer.from(String(journal ?? '')),
      isLocked: locked === true,
    }));
  }

  /** Returns the error for a first document that was not stored because another state changed; undefined if no other state changed. */
  async #secondState(seen: OtherStatesSnapshot, signal: AbortSignal): Promise<SecondState | undefined> {
    const { workspaceId } = seen;
    const found = await this.others(workspaceId, signal);
    if (this.#others?.writes === seen.writes) return undefined;
    const others = found.map(({ location }) => location).join(' and ') || 'another state';
    return new SecondState(
      `cannot create the state ${this.location}: another run has just changed ${others} of the same workspace ${workspaceId}`,
      { hint: 'Nothing was created. Plan again, and use only one of the states.' },
    );
  }

  async #rows<T>(
    statement: SqlStatement,
    signal: AbortSignal,
    convert: (row: DatabaseRow) => T,
  ): Promise<readonly T[]> {
    return this.#withDatabase(async (database) => {
      const found = await this.#tables.query(database, statement, signal);
      return 'hasSchema' in found ? [] : found.map(convert);
    });
  }

  async #withDatabase<T>(work: (database: Database) => Promise<T>): Promise<T> {
    this.#address ??= addressOf(this.#settings.url);
    const address = this.#address;
    const database = databaseAt(address);
    try {
      return await work(database);
    } catch (error) {
      if (error instanceof WriteConflict) throw error;
      throw problemOf(error, {
        subject: `the state ${this.location}`,
        setting: 'state.url',
        setUp: command('state init --sql'),
        server: address.location,
        wasReached: database.wasReached,
        wasWritten: this.#wasWritten,
      });
    }
  }

  #contentOf(row: ReadRow): StoredContent {
    if (row.revision === null) {
      this.#known = undefined;
      return NO_CONTENT;
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
      secondsSinceHeartbeat: row.lock === null ? undefined : row.silent,
    };
  }

  async #setUp({ hasSchema }: Absent, database: Database, signal: AbortSignal): Promise<void> {
    try {
      await database.query(setUpStatements(this.#settings.schema, hasSchema), [], signal);
    } catch (error) {
      // Another run created the tables first. The write checks them.
      if (!isCreatedConcurrently(error)) throw error;
    }
    this.#absent = undefined;
  }
}

interface ReadRow {
  /** Null if the state does not exist. */
  readonly revision: string | null;
  readonly write: string;
  readonly generation: string;
  readonly lock: StoredLock | null;
  readonly silent: number;
  /** True if the generation of the last read is still current, so that the row contains only later lines. */
  readonly fresh: boolean;
  readonly state: string | null;
  readonly journal: string | null;
}
