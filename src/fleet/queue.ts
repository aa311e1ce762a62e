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
  /** The time when it was due, in ISO 8601 by the clock of the database. */
  readonly due: string;
}

/** A job that this process holds as long as it sends heartbeats. */
export interface ClaimedJob extends RunJob {
  readonly id: string;
  /** The number of the claim. A later claim has a higher one. */
  readonly retryCount: number;
}

export interface QueuedRun extends RunJob {
  readonly groups: RunGroups;
  readonly isUrgent: boolean;
}

interface QueueTiming {
  /** Seconds without a heartbeat after which another process takes a job. */
  readonly heartbeat: number;
  /** Seconds between two checks for such jobs. */
  readonly monitor: number;
  /** Seconds after which a job is taken from a live process. */
  readonly expiry: number;
}

const URGENT = 10;
/** The number of processes that may crash during a job before its workspace waits for its next run. */
const MAX_CRASHES = 10;

/** Distributes runs to processes with pg-boss, with at most one job per workspace. */
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
      // These options need the owner of the tables, and a table with short-lived rows does not need them.
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
    // Cached from here on: a query inside a transaction would block a database with one connection.
    await boss.findJobs(QUEUE, { key: '' });
  }

  /** Queues runs in this order, except for workspaces that have a job. Urgent ones precede others. */
  async put(runs: readonly QueuedRun[], statements: FleetStatements): Promise<void> {
    if (runs.length === 0) return;
    const db = bossDatabase(statements);
    const jobs = runs.map(({ address, due, groups, isUrgent }) => ({
      id: crypto.randomUUID(),
      data: { address, due },
      singletonKey: address,
      group: { id: Object.values(groups).join(' ') },
      priority: isUrgent ? URGENT : 0,
      // Jobs that were queued together are taken in this order.
      startAfter: due,
    }));
    const made = new Set(await this.#boss.insert(QUEUE, jobs, { db, returnId: true }));
    for (const { id, singletonKey, priority } of jobs) {
      if (made.has(id) || priority === 0) continue;
      await this.#boss.update(QUEUE, undefined, { singletonKey, priority, match: 'all', db });
    }
  }

  /** At most this many jobs, none of them in these groups. */
  async take(most: number, without: readonly string[]): Promise<readonly ClaimedJob[]> {
    // A job of pg-boss has one group, which contains all of ours.
    const ignoreGroups = without.length === 0 ? [] : await queuedGroups(this.#database, without);
    const jobs = await this.#boss.fetch<RunJob>(QUEUE, { batchSize: most, ignoreGroups });
    return jobs.map(({ id, retryCount, data }) => ({ id, retryCount, ...data }));
  }

  /** Sends a heartbeat. Returns the jobs that this process still holds. */
  async beat(jobs: readonly ClaimedJob[]): Promise<ReadonlySet<string>> {
    if (jobs.length === 0) return new Set();
    return confirmedOf(await this.#boss.touch(QUEUE, jobs.map(attemptOf)), jobs);
  }

  /** Removes finished jobs. Returns those that this process still held; others belong to other processes. */
  async finish(jobs: readonly ClaimedJob[], statements: FleetStatements): Promise<ReadonlySet<string>> {
    const answer = await this.#boss.deleteJob(QUEUE, jobs.map(attemptOf), { db: bossDatabase(statements) });
    return confirmedOf(answer, jobs);
  }

  /** Returns the jobs of silent processes to the queue, as happens from time to time anyway. */
  async recoverJobs(): Promise<void> {
    await this.#boss.supervise(QUEUE);
  }

  /** Ends background work. Claimed jobs stay claimed. */
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

/** The types of pg-boss omit parts of its results, so its minor version is pinned. */
function confirmedOf(answer: object, jobs: readonly ClaimedJob[]): ReadonlySet<string> {
  const { settled } = answer as { readonly settled?: readonly string[] };
  if (settled === undefined) throw new Error('pg-boss does not say which jobs it settled');
  return new Set(jobs.map(({ id }) => id).filter((id) => settled.includes(id)));
}

function bossDatabase(statements: FleetStatements): Db {
  return {
    executeSql: async (text, values = []) => ({ rows: [...(await statements.ask(text, ...values))] }),
  };
}
