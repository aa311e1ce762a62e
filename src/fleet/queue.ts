import { type Db, PgBoss } from 'pg-boss';
import { UserError } from '../problems/user-error.ts';
import { isAlready } from '../state/backends/postgres/problems.ts';
import { isObject } from '../values/json.ts';
import type { FleetDatabase, FleetStatements } from './database/fleet-database.ts';
import { QUEUE_SCHEMA } from './database/fleet-tables.ts';
import { QUEUE, queuedGroups, queueVersion } from './database/queue-tables.ts';
import type { RunGroups } from './slots.ts';

/** A run that somebody is to do. */
interface RunJob {
  readonly address: string;
  /** When it was due, in ISO 8601 by the clock of the database. */
  readonly due: string;
}

/** A job that this process has. Only for as long as it gives signs of life. */
export interface ClaimedJob extends RunJob {
  readonly id: string;
  /** Of the claims of the job: whoever claims it later has a higher one. */
  readonly retryCount: number;
}

interface QueuedRun extends RunJob {
  readonly groups: RunGroups;
  readonly isUrgent: boolean;
}

interface QueueTiming {
  /** Seconds without a sign of life after which another process takes a job. */
  readonly heartbeat: number;
  /** Seconds between two looks for such jobs. */
  readonly monitor: number;
  /** Seconds after which a job is taken from a process that still lives. */
  readonly expiry: number;
}

const URGENT = 10;
/** Processes that may die over one job before its workspace waits for its next turn. */
const MOST_DEATHS = 10;

/** Which process runs which workspace: pg-boss, with at most one job for a workspace. */
export class Queue {
  readonly #boss: PgBoss;
  readonly #database: FleetDatabase;

  private constructor(boss: PgBoss, database: FleetDatabase) {
    this.#boss = boss;
    this.#database = database;
  }

  /** @throws UserError where its tables cannot be made or are those of a newer pg-boss. */
  static async open(
    database: FleetDatabase,
    timing: QueueTiming,
    onError: (error: unknown) => void,
  ): Promise<Queue> {
    const boss = new PgBoss({
      db: dbOver(database),
      schema: QUEUE_SCHEMA,
      backend: database.isEmbedded ? 'pglite' : 'postgres',
      schedule: false,
      // Both need the tables' owner, and a table whose rows live for seconds needs neither.
      reindex: false,
      monitorVacuum: false,
      superviseIntervalSeconds: timing.monitor,
      monitorIntervalSeconds: timing.monitor,
      maintenanceIntervalSeconds: 600,
      flowIntervalSeconds: 3600,
    });
    boss.on('error', (error: unknown) => onError(errorOf(error)));
    await queueVersion(database);
    const queue = new Queue(boss, database);
    try {
      await queue.#begin(timing);
      return queue;
    } catch (error) {
      await queue.close();
      throw error;
    }
  }

  async #begin({ heartbeat, expiry }: QueueTiming): Promise<void> {
    const boss = this.#boss;
    // Another process may make the same tables at this moment.
    await boss.start().catch((error: unknown) => {
      if (!(error instanceof Error) || !isAlready(error.cause)) throw error;
      return boss.start();
    });
    if ((await boss.getQueue(QUEUE)) === null) {
      await boss.createQueue(QUEUE, {
        policy: 'exclusive',
        heartbeatSeconds: heartbeat,
        expireInSeconds: expiry,
        retryLimit: MOST_DEATHS,
        retryDelay: 0,
        retentionSeconds: 86_400,
        deleteAfterSeconds: 60,
      });
    }
    // Known from here on: a look at the queue inside a transaction would wait for it on a database with one connection.
    await boss.findJobs(QUEUE, { key: '' });
  }

  /** Puts them in, in this order, but for workspaces that have a job already; urgent ones come before others. */
  async put(runs: readonly QueuedRun[], statements: FleetStatements): Promise<void> {
    if (runs.length === 0) return;
    const db = dbOver(statements);
    const jobs = runs.map(({ address, due, groups, isUrgent }) => ({
      id: crypto.randomUUID(),
      data: { address, due },
      singletonKey: address,
      group: { id: Object.values(groups).join(' ') },
      priority: isUrgent ? URGENT : 0,
      // Jobs that were put in together come in this order.
      startAfter: due,
    }));
    const made = new Set(await this.#boss.insert(QUEUE, jobs, { db, returnId: true }));
    for (const { id, singletonKey, priority } of jobs) {
      if (made.has(id) || priority === 0) continue;
      await this.#boss.update(QUEUE, undefined, { singletonKey, priority, match: 'all', db });
    }
  }

  /** At most that many jobs, none of which is in one of these groups. */
  async take(most: number, without: readonly string[]): Promise<readonly ClaimedJob[]> {
    // A job of pg-boss has one group, which names all of ours.
    const ignoreGroups = without.length === 0 ? [] : await queuedGroups(this.#database, without);
    const jobs = await this.#boss.fetch<RunJob>(QUEUE, { batchSize: most, ignoreGroups });
    return jobs.map(({ id, retryCount, data }) => ({ id, retryCount, ...data }));
  }

  /** Gives a sign of life. Those that are still ours. */
  async beat(jobs: readonly ClaimedJob[]): Promise<ReadonlySet<string>> {
    if (jobs.length === 0) return new Set();
    return settledOf(await this.#boss.touch(QUEUE, jobs.map(attemptOf)), jobs);
  }

  /** Removes jobs that are done. Those that were still ours; the others are somebody else's by now. */
  async finish(jobs: readonly ClaimedJob[], statements: FleetStatements): Promise<ReadonlySet<string>> {
    const answer = await this.#boss.deleteJob(QUEUE, jobs.map(attemptOf), { db: dbOver(statements) });
    return settledOf(answer, jobs);
  }

  /** Gives back the jobs of processes that went silent, as it does by itself from time to time. */
  async look(): Promise<void> {
    await this.#boss.supervise(QUEUE);
  }

  /** Ends what it does in the background; jobs that were claimed stay claimed. */
  async close(): Promise<void> {
    await this.#boss.stop({ graceful: false, close: false });
  }
}

/** pg-boss copies the fields of some errors into a plain object. */
function errorOf(error: unknown): unknown {
  if (error instanceof Error || !isObject(error)) return error;
  const hint = error.hint === undefined ? {} : { hint: String(error.hint) };
  return new UserError(String(error.message), hint);
}

function attemptOf({ id, retryCount }: ClaimedJob): { readonly id: string; readonly retryCount: number } {
  return { id, retryCount };
}

/** Types of pg-boss keep quiet about what its answers have, which is why its minor version is pinned. */
function settledOf(answer: object, jobs: readonly ClaimedJob[]): ReadonlySet<string> {
  const { settled } = answer as { readonly settled?: readonly string[] };
  if (settled === undefined) throw new Error('pg-boss does not say which jobs it settled');
  return new Set(jobs.map(({ id }) => id).filter((id) => settled.includes(id)));
}

function dbOver(statements: FleetStatements): Db {
  return {
    executeSql: async (text, values = []) => ({ rows: [...(await statements.ask(text, ...values))] }),
  };
}
