import { type Db, PgBoss } from 'pg-boss';
import { UserError } from '../problems/user-error.ts';
import { isCreatedConcurrently } from '../state/backends/postgres/problems.ts';
import { isObject } from '../values/json.ts';
import type { FleetDatabase, FleetStatements } from './database/fleet-database.ts';
import { QUEUE_SCHEMA } from './database/fleet-tables.ts';
import { QUEUE, queuedGroups, queueVersion } from './database/queue-tables.ts';
import type { RunGroups } from './slots.ts';

interface RunJob {
  readonly address: string;
  /** The time at which the run was due, in ISO 8601, by the clock of the database. */
  readonly due: string;
}

/** A job that this process holds while it sends heartbeats. */
export interface ClaimedJob extends RunJob {
  readonly id: string;
  /** The number of the claim. Each later claim of the job has a higher number. */
  readonly retryCount: number;
}

export interface QueuedRun extends RunJob {
  readonly groups: RunGroups;
  readonly isUrgent: boolean;
}

interface QueueTiming {
  /** Seconds without a heartbeat after which other processes may take a job. */
  readonly heartbeat: number;
  /** Seconds between two checks for jobs without heartbeats. */
  readonly monitor: number;
  /** Maximum seconds for a job, even if its process sends heartbeats. */
  readonly expiry: number;
}

const URGENT_PRIORITY = 10;
/** The maximum number of retries of a job whose process crashes. After that, the workspace waits until its next run is due. */
const MAX_CRASHES = 10;

/** Distributes runs to processes through pg-boss, with at most one job per workspace. */
export class Queue {
  readonly #boss: PgBoss;
  readonly #database: FleetDatabase;

  private constructor(boss: PgBoss, database: FleetDatabase) {
    this.#boss = boss;
    this.#database = database;
  }

  /** @throws UserError if the tables cannot be created or belong to a newer pg-boss. */
  static async open(database: FleetDatabase, timing: QueueTiming, onError: (error: unknown) => void): Promise<Queue> {
    const boss = new PgBoss({
      db: bossDatabase(database),
      schema: QUEUE_SCHEMA,
      backend: database.isEmbedded ? 'pglite' : 'postgres',
      schedule: false,
      // Both tasks require ownership of the tables, and are unnecessary for a table with short-lived rows.
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
    // Another process may be creating the same tables.
    await boss.start().catch((error: unknown) => {
      if (!(error instanceof Error) || !isCreatedConcurrently(error.cause)) throw error;
      return boss.start();
    });
    if ((await boss.getQueue(QUEUE)) === null) {
      await boss.createQueue(QUEUE, {
        policy: 'exclusive',
        heartbeatSeconds: heartbeat,
        expireInSeconds: expiry,
        retryLimit: MAX_CRASHES,
        retryDelay: 0,
        retentionSeconds: 86_400,
        deleteAfterSeconds: 60,
      });
    }
    // Makes pg-boss cache the queue: querying it inside a transaction would block a database with one connection.
    await boss.findJobs(QUEUE, { key: '' });
  }

  /** Queues runs in this order, but urgent runs first. A workspace that already has a job gets no second job. */
  async add(runs: readonly QueuedRun[], statements: FleetStatements): Promise<void> {
    if (runs.length === 0) return;
    const db = bossDatabase(statements);
    const jobs = runs.map(({ address, due, groups, isUrgent }) => ({
      id: crypto.randomUUID(),
      data: { address, due },
      singletonKey: address,
      group: { id: Object.values(groups).join(' ') },
      priority: isUrgent ? URGENT_PRIORITY : 0,
      // Jobs that are queued together have the same creation time, so `startAfter` determines their order.
      startAfter: due,
    }));
    const added = new Set(await this.#boss.insert(QUEUE, jobs, { db, returnId: true }));
    for (const { id, singletonKey, priority } of jobs) {
      if (added.has(id) || priority === 0) continue;
      await this.#boss.update(QUEUE, undefined, { singletonKey, priority, match: 'all', db });
    }
  }

  /** Claims at most `max` jobs. Skips jobs in the excluded groups. */
  async take(max: number, excludedGroups: readonly string[]): Promise<readonly ClaimedJob[]> {
    // In pg-boss, a job has one group. Its name consists of the names of all groups of the run.
    const ignoreGroups = excludedGroups.length === 0 ? [] : await queuedGroups(this.#database, excludedGroups);
    const jobs = await this.#boss.fetch<RunJob>(QUEUE, { batchSize: max, ignoreGroups });
    return jobs.map(({ id, retryCount, data }) => ({ id, retryCount, ...data }));
  }

  /** Sends a heartbeat for these jobs. Returns the ids of the jobs that this process still holds. */
  async beat(jobs: readonly ClaimedJob[]): Promise<ReadonlySet<string>> {
    if (jobs.length === 0) return new Set();
    return settledIds(await this.#boss.touch(QUEUE, jobs.map(claimOf)), jobs);
  }

  /** Removes the jobs that this process still holds, and returns their ids. Other processes hold the remaining jobs. */
  async finish(jobs: readonly ClaimedJob[], statements: FleetStatements): Promise<ReadonlySet<string>> {
    const result = await this.#boss.deleteJob(QUEUE, jobs.map(claimOf), { db: bossDatabase(statements) });
    return settledIds(result, jobs);
  }

  /** Returns the jobs of processes without heartbeats to the queue now. pg-boss also does this regularly. */
  async recoverJobs(): Promise<void> {
    await this.#boss.supervise(QUEUE);
  }

  /** Stops the background work. Claimed jobs stay claimed. */
  async close(): Promise<void> {
    await this.#boss.stop({ graceful: false, close: false });
  }
}

/** Returns an `Error` for an error of pg-boss, which copies the fields of some errors into a plain object. */
function errorOf(error: unknown): unknown {
  if (error instanceof Error || !isObject(error)) return error;
  const hint = error.hint === undefined ? {} : { hint: String(error.hint) };
  return new UserError(String(error.message), hint);
}

function claimOf({ id, retryCount }: ClaimedJob): { readonly id: string; readonly retryCount: number } {
  return { id, retryCount };
}

/** Returns the ids of changed jobs. The types of pg-boss do not declare them, so package.json pins its minor version. */
function settledIds(result: object, jobs: readonly ClaimedJob[]): ReadonlySet<string> {
  const { settled } = result as { readonly settled?: readonly string[] };
  if (settled === undefined) throw new Error('pg-boss returned no list of settled jobs');
  return new Set(jobs.map(({ id }) => id).filter((id) => settled.includes(id)));
}

function bossDatabase(statements: FleetStatements): Db {
  return {
    executeSql: async (text, values = []) => ({ rows: [...(await statements.query(text, ...values))] }),
  };
}
